import pytest

from harnesspro.core.errors import HarnessProError, ModelUnknown, ProviderBusy, rebuilt


@pytest.mark.parametrize("kind", [HarnessProError, ModelUnknown, ProviderBusy])
def test_an_error_reads_back_from_its_document(kind):
    error = kind("here", "this", expected="that", fix="mend it")
    again = rebuilt(error.document())

    assert (type(again), str(again)) == (kind, "here: this; expected that; mend it")
    assert again.document() == error.document()


@pytest.mark.parametrize("name", ["NoSuchError", "Mapping", "rebuilt"])
def test_a_class_that_is_no_error_of_ours_is_the_root(name):
    document = HarnessProError("here", "this").document() | {"error": name}
    assert type(rebuilt(document)) is HarnessProError
