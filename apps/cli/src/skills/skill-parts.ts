/** What a skill in a file gets for @reyn/skill-resume, whatever is installed beside it: what it takes to define one. */
export { defineSkill, done, next } from "@reyn/skill-resume";
