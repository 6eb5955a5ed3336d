/**
 * Checks request bodies as Discord does.
 */
import type { ReceivedBody } from './body.ts'
import { invalid, type Refusal, refusals } from './errors.ts'

const uploadLimit = 10 * 1024 * 1024
const voiceMessage = 1 << 13

/** Returns undefined for a valid message. `isNew`: an empty message is rejected. */
export function validateMessage({ json, files }: ReceivedBody, isNew: boolean): Refusal | undefined {
  const content = json['content']
  if (content !== undefined && content !== null && typeof content !== 'string') {
    return invalid('content', 'BASE_TYPE_STRING', 'Could not interpret value as string.')
  }
  if ((content ?? '').length > 2_000) {
    return invalid('content', 'BASE_TYPE_MAX_LENGTH', 'Must be 2000 or fewer in length.')
  }
  const nonce = json['nonce']
  if (nonce !== undefined && String(nonce).length > 25) {
    return invalid('nonce', 'BASE_TYPE_MAX_LENGTH', 'Must be 25 or fewer in length.')
  }
  if (files.size > 10) return invalid('attachments', 'BASE_TYPE_MAX_LENGTH', 'Must be 10 or fewer in length.')
  if ([...files.values()].some(({ bytes }) => bytes.length > uploadLimit)) return refusals.tooLarge
  const isVoice = (Number(json['flags'] ?? 0) & voiceMessage) !== 0
  if (isVoice) return validateVoice(json, files.size)
  const isEmpty = (content ?? '').trim() === '' && files.size === 0 && listOf(json, 'embeds').length === 0
  if (isNew && isEmpty) return refusals.empty
  return validateComponents(listOf(json, 'components'))
}

function validateVoice(json: ReceivedBody['json'], fileCount: number): Refusal | undefined {
  const [attachment] = listOf(json, 'attachments')
  if (json['content'] !== undefined && json['content'] !== '') {
    return invalid('content', 'MESSAGE_VOICE_CONTENT', 'Voice messages do not support content.')
  }
  if (
    fileCount === 1 &&
    typeof attachment?.['duration_secs'] === 'number' &&
    typeof attachment['waveform'] === 'string'
  ) {
    return undefined
  }
  return invalid('attachments', 'VOICE_MESSAGE', 'Voice messages must have a single audio attachment with metadata.')
}

function validateComponents(rows: readonly Readonly<Record<string, unknown>>[]): Refusal | undefined {
  if (rows.length > 5) return invalid('components', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
  const ids = new Set<unknown>()
  for (const row of rows) {
    const buttons = listOf(row, 'components')
    if (row['type'] !== 1 || buttons.length < 1 || buttons.length > 5) {
      return invalid('components.0', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
    }
    for (const { type, style, label, custom_id: customId } of buttons) {
      if (type !== 2 || ![1, 2, 3, 4].includes(Number(style)))
        return invalid('components.0.components.0', 'ENUM', 'style')
      if (typeof label !== 'string' || label.length < 1 || label.length > 80) {
        return invalid('components.0.components.0.label', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 80 in length.')
      }
      if (typeof customId !== 'string' || customId.length < 1 || customId.length > 100 || ids.has(customId)) {
        return invalid('components.0.components.0.custom_id', 'COMPONENT_CUSTOM_ID', 'custom_id')
      }
      ids.add(customId)
    }
  }
  return undefined
}

/** Checks a list of commands. */
export function validateCommands(commands: readonly Readonly<Record<string, unknown>>[]): Refusal | undefined {
  if (commands.length > 100)
    return { status: 400, code: 30032, message: 'Maximum number of application commands reached (100)' }
  for (const { name, description, options } of commands) {
    if (typeof name !== 'string' || !/^[-_'\p{Ll}\p{N}\p{Lo}]{1,32}$/u.test(name)) {
      return invalid('name', 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid')
    }
    if (typeof description !== 'string' || description.length < 1 || description.length > 100) {
      return invalid('description', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 100 in length.')
    }
    if (options !== undefined && !Array.isArray(options)) return invalid('options', 'LIST', 'Only lists may be used.')
    const choices = (options ?? []).flatMap((option: Readonly<Record<string, unknown>>) => [listOf(option, 'choices')])
    if (choices.some((list) => list.length > 25 || list.some((one) => !isChoice(one))))
      return invalid('choices', 'BASE_TYPE_BAD_LENGTH', 'Must be 25 or fewer in length.')
  }
  return undefined
}

function isChoice({ name, value }: Readonly<Record<string, unknown>>): boolean {
  return typeof name === 'string' && name.length >= 1 && name.length <= 100 && typeof value === 'string'
}

export function listOf(of: ReceivedBody['json'], key: string): readonly Readonly<Record<string, unknown>>[] {
  const value = of[key]
  return Array.isArray(value) ? value : []
}
