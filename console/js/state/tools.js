// Tools that run in the page. None of them touches the machine.
const object = (properties, required) => JSON.stringify({ type: "object", properties, required }, null, 1);

export const kTools = [
  { name: "current_time", description: "The date and time now", schema: object({}, []) },
  { name: "calculate", description: "The value of an arithmetic expression", schema: object({ expression: { type: "string" } }, ["expression"]) },
  { name: "roll_dice", description: "Rolls dice with so many sides", schema: object({ sides: { type: "integer" }, count: { type: "integer" } }, ["sides"]) },
];

// Sums, products, brackets; anything else is an error.
export function calculate(text) {
  let at = 0;
  const skip = () => {
    while (text[at] === " ") ++at;
  };
  const atom = () => {
    skip();
    if (text[at] === "-") return ++at, -atom();
    if (text[at] === "(") {
      ++at;
      const value = sum();
      skip();
      if (text[at++] !== ")") throw new Error(")");
      return value;
    }
    const found = /^\d+(\.\d+)?/.exec(text.slice(at));
    if (!found) throw new Error(text.slice(at, at + 10));
    at += found[0].length;
    return Number(found[0]);
  };
  const chain = (next, signs) => () => {
    let value = next();
    for (skip(); signs[text[at]]; skip()) {
      const sign = text[at++];
      value = signs[sign](value, next());
    }
    return value;
  };
  const product = chain(atom, { "*": (a, b) => a * b, "/": (a, b) => a / b });
  const sum = chain(product, { "+": (a, b) => a + b, "-": (a, b) => a - b });
  const value = sum();
  skip();
  if (at < text.length) throw new Error(text.slice(at, at + 10));
  return value;
}

// None: it is not one of the page's.
export function runTool(name, args) {
  try {
    const given = JSON.parse(args || "{}");
    if (name === "current_time") return new Date().toString();
    if (name === "calculate") return String(calculate(String(given.expression)));
    if (name === "roll_dice") {
      const sides = Math.min(Math.max(given.sides | 0, 2), 1000), count = Math.min(Math.max(given.count ?? 1, 1), 100);
      return Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides)).join(" ");
    }
  } catch (error) {
    return `error: ${error.message}`;
  }
  return undefined;
}
