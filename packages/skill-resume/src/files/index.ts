/** Skills that people write in files: found in directories, and in packages by name. */
export { findSkills, type SkillDirectory, type SkillPackage, type SkillPlaces } from "./find-skills.ts";
export { type SkillFile, skillFilesIn } from "./skill-files.ts";
