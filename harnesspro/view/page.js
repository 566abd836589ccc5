// Draws the chart whose specification stands beside this script. `ast` keeps Vega from compiling
// text to code, which the page's policy forbids; styles are the page's own.
const place = document.getElementById("front");
const spec = JSON.parse(document.getElementById("front-spec").textContent);
vegaEmbed(place, spec, {
  actions: false,
  ast: true,
  defaultStyle: false,
  renderer: "svg",
  tooltip: { disableDefaultStyle: true, theme: "page" },
}).catch((error) => {
  place.textContent = "The chart could not be drawn: " + error.message;
});
