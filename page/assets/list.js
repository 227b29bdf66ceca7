// Shows the scenarios that have every word of the search.

const field = document.getElementById("search");
const cards = [...document.querySelectorAll(".card")];
const texts = cards.map((card) => card.textContent.toLowerCase());

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  cards.forEach((card, index) => { card.hidden = !words.every((word) => texts[index].includes(word)); });
  for (const topic of document.querySelectorAll(".topic")) topic.hidden = !topic.querySelector(".card:not([hidden])");
  document.getElementById("count").textContent = `${cards.filter((card) => !card.hidden).length} of ${cards.length}`;
}

field.addEventListener("input", search);
search();
