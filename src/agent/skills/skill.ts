/**
 * What a skill is: a folder with instructions for one kind of work (contract S2, the format of agentskills.io). The limits of
 * its files are here, too.
 */

/** Where a skill was found. The first origin of this list counts for two skills of one name. */
export type SkillOrigin = 'home' | 'external' | 'bundled' | 'plugin'

export interface Skill {
  /**
   * At most 64 small letters, digits, `.`, `_` and `-`; of a plugin `<plugin>:<name>`; `<category>/<name>` where another skill has
   * the name alone.
   */
  readonly name: string
  /** One line; '' when the head has none. */
  readonly description: string
  /** The folders between the root and the skill; '' for none. */
  readonly category: string
  readonly origin: SkillOrigin
  /** The real path of the folder. */
  readonly directory: string
  readonly version: string
  readonly tags: readonly string[]
  readonly conditions: SkillConditions
  readonly variables: readonly SkillVariable[]
  readonly settings: readonly SkillSetting[]
}

/** When the index shows a skill. Empty lists do not limit it. */
export interface SkillConditions {
  readonly platforms: readonly string[]
  /** All of them must be there. */
  readonly requiresToolsets: readonly string[]
  readonly requiresTools: readonly string[]
  /** The skill is a substitute: it is shown while one of them is missing. */
  readonly fallbackForToolsets: readonly string[]
  readonly fallbackForTools: readonly string[]
}

/** An entry of `required_environment_variables`. */
export interface SkillVariable {
  readonly name: string
  /** What it is, for the person who sets it. */
  readonly prompt: string
  /** Where to get it. */
  readonly help: string
  readonly requiredFor: string
}

/** An entry of `metadata.hermes.config`: `skills.config.<key>` of the configuration. */
export interface SkillSetting {
  readonly key: string
  readonly description: string
  readonly default: unknown
}

export type SkillProblemCode =
  | 'too-large'
  | 'binary'
  | 'no-head'
  | 'broken-head'
  | 'invalid-name'
  | 'invalid-field'
  | 'no-description'
  | 'duplicate'
  | 'link-outside'
  | 'unreadable'
  | 'suspicious'
  | 'too-many'

/** Something that is wrong with the files of a skill. */
export interface SkillProblem {
  /** The file or folder. */
  readonly path: string
  readonly code: SkillProblemCode
  /** A clause about the path that says what to do. */
  readonly message: string
  /** False: the skill is used all the same. */
  readonly isLeftOut: boolean
}

export interface SkillListing {
  /** By category and name. */
  readonly skills: readonly Skill[]
  readonly problems: readonly SkillProblem[]
}

export const skillFile = 'SKILL.md'
/** In the root of the skills of the home: a process that changes them holds its lock. */
export const lockFile = '.lock'

export const maxNameChars = 64
export const maxDescriptionChars = 1_024
/** Limits SKILL.md. It is part of a prompt, so that a longer one belongs into linked files. */
export const maxSkillBytes = 262_144
/** Limits a linked file that is read or written. */
export const maxLinkedBytes = 1_048_576
/** Limits the head of SKILL.md. */
export const maxHeadBytes = 16_384

export function isSkillName(name: string): boolean {
  return name.length <= maxNameChars && /^[a-z0-9][a-z0-9._-]*$/.test(name)
}

/** The name with its category, by which a skill is found, too. */
export function toPathName({ name, category }: Pick<Skill, 'name' | 'category'>): string {
  return category === '' || name.startsWith(`${category}/`) ? name : `${category}/${name}`
}

/** The name that the head of the skill has. */
export function toHeadName({ name }: Pick<Skill, 'name'>): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** The name as people may type it in a chat: without regard to case, and with `_` for `-`, as Telegram needs it. */
export function toTypedName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}
