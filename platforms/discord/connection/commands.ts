/**
 * The slash commands of the bot, as Discord lists them: registered when they differ from what it knows.
 */
import type { CommandEntry } from '#sdk'
import { asRecord, isRecord, type JsonRecord, recordsAt, textAt } from '../inbound/payload.ts'
import type { Api } from './api.ts'

/** Discord refuses the whole list when it is longer. */
const maxCommands = 100
const maxDescriptionChars = 100
const chatInputType = 1
const stringOptionType = 3

/** The list as Discord takes it. Names that it does not take are left out; people can still type them. Pure. */
export function toApplicationCommands(entries: readonly CommandEntry[]): readonly JsonRecord[] {
  return entries
    .filter(({ name }) => /^[-_\p{L}\p{N}]{1,32}$/u.test(name) && name === name.toLowerCase())
    .slice(0, maxCommands)
    .map(({ name, description, argsHint }) => ({
      name,
      description: toDescription(description, name),
      type: chatInputType,
      options:
        argsHint === ''
          ? []
          : [{ type: stringOptionType, name: 'args', description: toDescription(argsHint, name), required: false }],
    }))
}

/** Returns whether Discord's list was out of date. Rejects as the API does. */
export async function registerCommands(
  api: Pick<Api, 'commands' | 'setCommands'>,
  application: string,
  entries: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = toApplicationCommands(entries)
  const known = await api.commands(application, signal)
  if (Array.isArray(known) && isSameCommandList(known.filter(isRecord), wanted)) return false
  await api.setCommands(application, wanted, signal)
  return true
}

function isSameCommandList(known: readonly JsonRecord[], wanted: readonly JsonRecord[]): boolean {
  const essence = (commands: readonly JsonRecord[]) =>
    commands.map((command) => JSON.stringify(comparableFields(command))).sort()
  return essence(known).join('\n') === essence(wanted).join('\n')
}

/** Without what Discord adds: ids, versions, translations. */
function comparableFields(command: JsonRecord) {
  const options = recordsAt(command, 'options').map((option) => {
    return [option['type'], textAt(option, 'name'), textAt(option, 'description'), option['required'] === true]
  })
  return [textAt(command, 'name'), textAt(command, 'description'), asRecord(command)['type'] ?? chatInputType, options]
}

function toDescription(text: string, otherwise: string): string {
  const words = text.trim() === '' ? otherwise : text.trim()
  return words.length <= maxDescriptionChars ? words : `${words.slice(0, maxDescriptionChars - 1).toWellFormed()}…`
}
