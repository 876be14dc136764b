/** highlight.js with the languages that are known here. Its own types would bring those of a browser along for everybody: `hljs.d.ts`. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const scripts = { bash, python, javascript, typescript };
const programs = { go, java, rust, sql };
const documents = { css, ini, json, markdown, xml, yaml };
for (const [name, language] of Object.entries({ ...scripts, ...programs, ...documents }))
	hljs.registerLanguage(name, language);

export { hljs };
