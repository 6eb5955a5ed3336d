/**
 * Reads what `agent.system_prompt`, `prefill_messages_file`, `channel_prompts` and `channel_overrides` add to each request of a turn. Loaded only
 * where one of them is configured.
 */
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import type { EphemeralPrompt } from '../../agent/models/ephemeral-prompt.ts'
import { messageOf } from '../../lib/errors.ts'
import { readTextIfExists } from '../../lib/files.ts'
import type { SessionSource } from '../../message/source.ts'

export interface EphemeralSettings {
  /** `agent.system_prompt`. */
  readonly systemPrompt: string
  /** Relative to the home of the gateway; '' for none. */
  readonly prefillFile: string
  /** The prompts of the platform, by the id of a chat or of a thread. */
  readonly channelPrompts: Readonly<Record<string, string>>
  readonly channelOverrides: Readonly<Record<string, { readonly system_prompt?: string | undefined }>>
}

export interface EphemeralResult {
  /** Undefined if there is nothing to add. */
  readonly prompt: EphemeralPrompt | undefined
  /** Why the file is not used; '' if it is. */
  readonly problem: string
}

const maxPrefillBytes = 65_536

/** Reads the file again with each call, so that an edit counts for the next turn. Never throws. */
export function readEphemeralPrompt(
  { systemPrompt, prefillFile, channelPrompts, channelOverrides }: EphemeralSettings,
  source: Pick<SessionSource, 'chatId' | 'threadId' | 'parentChatId'> | undefined,
  directories: { readonly home: string; readonly userHome: string },
): EphemeralResult {
  const prefill = prefillFile === '' ? emptyPrefill : readPrefill(prefillFile, directories)
  const override = entryOf(channelOverrides, source)?.system_prompt ?? ''
  const texts = [systemPrompt, entryOf(channelPrompts, source) ?? '', override, prefill.system]
  const system = texts
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join('\n\n')
  const prompt = system === '' && prefill.messages.length === 0 ? undefined : { system, prefill: prefill.messages }
  return { prompt, problem: prefill.problem }
}

/** The most specific id counts. */
function entryOf<T>(
  entries: Readonly<Record<string, T>>,
  source: Pick<SessionSource, 'chatId' | 'threadId' | 'parentChatId'> | undefined,
): T | undefined {
  const ids = [source?.threadId, source?.chatId, source?.parentChatId]
  const id = ids.find((id) => id !== undefined && Object.hasOwn(entries, id))
  return id === undefined ? undefined : entries[id]
}

interface Prefill {
  readonly messages: EphemeralPrompt['prefill']
  /** The texts of its system messages. */
  readonly system: string
  /** Why it cannot be used; '' if it can. */
  readonly problem: string
}

const emptyPrefill: Prefill = { messages: [], system: '', problem: '' }

const prefillSchema = z.array(
  z.object({
    role: z.enum(['system', 'user', 'assistant'], { error: 'expected system, user or assistant' }),
    content: z.string({ error: 'expected a text' }).min(1, { error: 'expected a text' }),
  }),
  { error: 'expected a list of {"role", "content"}' },
)

function readPrefill(file: string, { home, userHome }: { readonly home: string; readonly userHome: string }): Prefill {
  const expanded = file.replace(/^~(?=$|\/)/, userHome)
  const path = isAbsolute(expanded) ? expanded : join(home, expanded)
  const refuse = (reason: string): Prefill => ({
    ...emptyPrefill,
    problem: `prefill_messages_file: ${path}: ${reason}`,
  })
  try {
    const text = readTextIfExists(path, maxPrefillBytes)
    if (text === undefined) return refuse('there is no such file')
    const parsed = parsePrefill(text)
    return parsed.problem === '' ? parsed : refuse(parsed.problem)
  } catch (error) {
    return refuse(messageOf(error))
  }
}

/** The content of the file of `prefill_messages_file`. Never throws. */
export function parsePrefill(text: string): Prefill {
  const refuse = (problem: string): Prefill => ({ ...emptyPrefill, problem })
  try {
    const parsed = prefillSchema.safeParse(JSON.parse(text))
    if (!parsed.success) return refuse(describeIssue(parsed.error.issues[0]))
    return (
      toPrefill(parsed.data) ??
      refuse('user and assistant must take turns: the first message is of user, the last of assistant')
    )
  } catch (error) {
    return refuse(`it is not JSON: ${messageOf(error)}`)
  }
}

/** Undefined if the messages do not alternate: most vendors refuse such a conversation. */
function toPrefill(all: z.output<typeof prefillSchema>): Prefill | undefined {
  const messages = all.flatMap(({ role, content }) => (role === 'system' ? [] : [{ role, content }]))
  const alternates = messages.every(({ role }, index) => role === (index % 2 === 0 ? 'user' : 'assistant'))
  if (!alternates || messages.length % 2 !== 0) return undefined
  const system = all.filter(({ role }) => role === 'system').map(({ content }) => content)
  return { messages, system: system.join('\n\n'), problem: '' }
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return 'it is invalid'
  const [index, field] = issue.path
  if (index === undefined) return issue.message
  return `message ${Number(index) + 1}${field === undefined ? '' : `, ${String(field)}`}: ${issue.message}`
}
