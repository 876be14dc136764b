/** turndown, with the types that are used here: `turndown.d.ts`. Its own would bring those of a browser along for everybody. */
export { default } from "turndown";
