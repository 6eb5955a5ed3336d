/**
 * Registers the slash commands of the bot with Discord when its list differs from the gateway's.
 */
import type { CommandEntry } from '#sdk'
import { asRecord, isRecord, type JsonRecord, recordsAt, textAt } from '../inbound/payload.ts'
import type { Api } from './api.ts'

/** Discord rejects a longer list as a whole. */
const maxCommands = 100
const maxDescriptionChars = 100
/** A longer list of choices is rejected, too. */
const maxChoices = 25
const chatInputType = 1
const stringOptionType = 3

/** The list in Discord's form. Leaves out names that Discord rejects; such commands can still be typed. Pure. */
export function toApplicationCommands(entries: readonly CommandEntry[]): readonly JsonRecord[] {
  return entries
    .filter(({ name }) => /^[-_\p{L}\p{N}]{1,32}$/u.test(name) && name === name.toLowerCase())
    .slice(0, maxCommands)
    .map((entry) => ({
      name: entry.name,
      description: toDescription(entry.description, entry.name),
      type: chatInputType,
      options: entry.argsHint === '' ? [] : [toOption(entry)],
    }))
}

/** One optional text for everything after the name, from a list where the command takes nothing else. */
function toOption({ name, argsHint, choices = [] }: CommandEntry): JsonRecord {
  return {
    type: stringOptionType,
    name: 'args',
    description: toDescription(argsHint, name),
    required: false,
    ...(choices.length === 0 || choices.length > maxChoices
      ? {}
      : { choices: choices.map((choice) => ({ name: choice, value: choice })) }),
  }
}

/** Returns whether Discord's list was outdated. Rejects as the API does. */
export async function registerCommands(
  api: Pick<Api, 'commands' | 'setCommands'>,
  application: string,
  entries: readonly CommandEntry[],
  signal: AbortSignal,
): Promise<boolean> {
  const commands = toApplicationCommands(entries)
  const registered = await api.commands(application, signal)
  if (Array.isArray(registered) && isSameCommandList(registered.filter(isRecord), commands)) return false
  await api.setCommands(application, commands, signal)
  return true
}

function isSameCommandList(a: readonly JsonRecord[], b: readonly JsonRecord[]): boolean {
  const serialize = (commands: readonly JsonRecord[]) =>
    commands.map((command) => JSON.stringify(comparableFields(command))).sort()
  return serialize(a).join('\n') === serialize(b).join('\n')
}

/** The fields of a command without those that Discord adds: ids, versions, translations. */
function comparableFields(command: JsonRecord) {
  const options = recordsAt(command, 'options').map((option) => {
    const choices = recordsAt(option, 'choices').map((choice) => textAt(choice, 'value'))
    return [option['type'], textAt(option, 'name'), textAt(option, 'description'), option['required'] === true, choices]
  })
  return [textAt(command, 'name'), textAt(command, 'description'), asRecord(command)['type'] ?? chatInputType, options]
}

function toDescription(text: string, fallback: string): string {
  const description = text.trim() === '' ? fallback : text.trim()
  if (description.length <= maxDescriptionChars) return description
  return `${description.slice(0, maxDescriptionChars - 1).toWellFormed()}…`
}
