/**
 * Skills as commands of a chat: their entries in menus, and the text of those that a message names. A command of the gateway, of the
 * operator or of a plugin wins over a skill of its name. Loaded with the skills.
 */
import { permitsTool } from '../../agent/loop/role-ceiling.ts'
import { fitsSystem } from '../../agent/skills/index-layer.ts'
import { toTypedName } from '../../agent/skills/skill.ts'
import type { Skills } from '../../agent/skills/skills.ts'
import type { CommandDefinition } from '../../commands/command.ts'
import { shorten } from '../../lib/visible-text.ts'
import type { Authority } from '../../message/authority.ts'
import { type MessageEvent, parseCommand } from '../../message/event.ts'
import { type CommandTiers, refuseCommand } from '../access/command-ceiling.ts'

export type MenuEntry = Pick<CommandDefinition, 'name' | 'aliases' | 'description' | 'argsHint'>

const maxDescriptionChars = 80

/** The skills of this system that a person can call by their names. */
export async function listSkillCommands(
  skills: Pick<Skills, 'list'>,
  isCommand: (name: string) => boolean,
): Promise<readonly MenuEntry[]> {
  const { skills: all } = await skills.list()
  return all
    .filter(
      ({ name, origin, conditions }) =>
        // These have names that menus do not know.
        origin !== 'plugin' && !name.includes('/') && !isCommand(name) && fitsSystem(conditions, process.platform),
    )
    .map(({ name, description }) => ({
      name,
      // Menus of some platforms know no hyphens.
      aliases: name.includes('-') ? [name.replaceAll('-', '_')] : [],
      description: shorten(description, maxDescriptionChars),
      argsHint: '[text]',
    }))
}

/** The text of the skills that a message names; '' if it names none, or none that its sender may use. Rejects with system errors. */
export async function readMessageSkills(
  deps: {
    readonly skills: Pick<Skills, 'expand'>
    /** What the configuration permits to this person: names of tools, toolsets and modes. */
    toolListOf(authority: Authority): readonly string[]
    commandTiersOf(source: MessageEvent['source']): CommandTiers | undefined
    authorityOf(source: MessageEvent['source']): Authority
  },
  event: MessageEvent,
): Promise<string> {
  const authority = event.authority ?? deps.authorityOf(event.source)
  const mayRead = permitsTool(deps.toolListOf(authority), { name: 'skill_view', toolset: 'skills', mode: 'pure' })
  const command = parseCommand(event)
  if (!mayRead || command === null) return ''
  const name = toTypedName(command.name)
  const entry = { name, aliases: [name.replaceAll('-', '_')] }
  if (refuseCommand(entry, authority, deps.commandTiersOf(event.source)) !== undefined) return ''
  return await deps.skills.expand(event.text)
}
