/**
 * `/name words` in a message: loads skills into the text of the user. Up to five may follow one another: `/a /b do it`.
 */
import { toTypedName } from './skill.ts'

/** More names than these are words for the agent. */
const maxStacked = 5

export interface SkillInvocation {
  /** The names as typed, without the slash. */
  readonly names: readonly string[]
  /** What follows the names. */
  readonly words: string
}

/** A name and what it may be followed by: letters, and `@bot` as in a group. */
const namePattern = /^\/([\p{L}\p{N}][\p{L}\p{N}._:-]{0,200})(?:@[\w.-]*)?(?:\s+|$)/u

/**
 * The skills that a text begins with; undefined if the first word names none. `exists` says whether a name, in the form that
 * `toTypedName` gives, is a skill.
 */
export function parseInvocation(text: string, exists: (name: string) => boolean): SkillInvocation | undefined {
  const names: string[] = []
  let rest = text.trimStart()
  while (names.length < maxStacked) {
    const [whole = '', typed = ''] = namePattern.exec(rest) ?? []
    const name = toTypedName(typed)
    if (typed === '' || !exists(name)) break
    if (!names.includes(name)) names.push(name)
    rest = rest.slice(whole.length)
  }
  return names.length === 0 ? undefined : { names, words: rest.trim() }
}

/** How the block of a loaded skill begins. People cannot write this line: messages of people are filtered. */
export const invocationLine = 'Skill of the user:'

export interface LoadedSkill {
  readonly name: string
  readonly directory: string
  readonly text: string
  /** What the person must know, such as a variable that is missing. */
  readonly notes: readonly string[]
}

/** The text for the model before the words of the person. */
export function formatLoadedSkills(skills: readonly LoadedSkill[]): string {
  return skills
    .map(({ name, directory, text, notes }) =>
      [`[${invocationLine} ${name}, in ${directory}. Follow it.]`, text, ...notes, `[End of the skill ${name}]`].join(
        '\n\n',
      ),
    )
    .join('\n\n')
}
