/**
 * What a person wrote in a message with which skills were loaded (`/name words`). The gateway writes the blocks before it; see
 * `formatLoadedSkills`.
 */
const blockStart = /^\[Skill of the user: ([\w.:-]+), in /

const frame = /^\[(?:Scheduled job|Webhook) "([^\n]{1,200}?)"[.:][^\n]*\]\n\n/

/** The text of a turn that a program has begun, with the name of the program instead of what the gateway says about the turn. */
export function withoutFrame(text: string): string {
  const [whole = '', name = ''] = frame.exec(text) ?? []
  return whole === '' ? text : `${name}: ${text.slice(whole.length)}`
}

/**
 * The text without the blocks of skills. The text may end within a block: only the names of the skills are known
 * then.
 */
export function ownWords(text: string): string {
  let rest = text
  const names: string[] = []
  for (let start = blockStart.exec(rest); start !== null; start = blockStart.exec(rest)) {
    const [, name = ''] = start
    names.push(`/${name}`)
    const end = `\n\n[End of the skill ${name}]`
    const at = rest.indexOf(end)
    if (at === -1) return names.join(' ')
    rest = rest.slice(at + end.length).replace(/^\n+/, '')
  }
  return rest
}
