/**
 * Creates adapters with a defect: the adapter of the fake platform with a wrong method, a changed context or a wrong parser.
 */
import { brand } from '../../../../src/lib/ids.ts'
import type { Attachment } from '../../../../src/message/event.ts'
import type { EventKey } from '../../../../src/message/ids.ts'
import type { OutboundMessage, SendFailureKind, SendResult } from '../../../../src/message/outbound.ts'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import type { PlatformContext } from '../../../../src/platforms/context.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { type FakeUpdate, type ParsedUpdate, parseUpdate } from '../../fake-platform-updates.ts'

export interface Defect {
  /** The promise that it is made for, followed by other promises that it breaks. */
  readonly breaks: readonly string[]
  create(context: PlatformContext): PlatformAdapter
}

type FakeAdapter = PlatformAdapter & Required<Pick<PlatformAdapter, 'edit' | 'remove' | 'typing' | 'resolveUnknown'>>

/** An adapter with wrong methods. */
export function withDefect(change: (correct: FakeAdapter, context: PlatformContext) => Partial<PlatformAdapter>) {
  return (context: PlatformContext): PlatformAdapter => {
    const correct = createAdapter(context)
    const { edit, remove, typing, resolveUnknown } = correct
    if (!edit || !remove || !typing || !resolveUnknown) throw new Error('the fake adapter lacks a method')
    return { ...correct, ...change({ ...correct, edit, remove, typing, resolveUnknown }, context) }
  }
}

/** An adapter whose sends fail without need. */
export function withFailingSend(problemOf: (message: OutboundMessage) => SendFailureKind | undefined) {
  return withDefect((correct) => ({
    async send(message, signal) {
      const problem = problemOf(message)
      return problem === undefined ? correct.send(message, signal) : failedResult(problem)
    },
  }))
}

type SendFailure = Extract<SendResult, { success: false }>

/** An adapter that reports a wrong failure of a send. */
export function withWrongResult(change: (result: SendFailure) => SendFailure) {
  return withDefect((correct) => ({
    async send(message, signal) {
      const result = await correct.send(message, signal)
      return result.success ? result : change(result)
    },
  }))
}

/** An adapter with a changed context. */
export function withChangedContext(change: (context: PlatformContext) => Partial<PlatformContext>) {
  return (context: PlatformContext) => createAdapter({ ...context, ...change(context) })
}

/** An adapter that parses updates wrongly. */
export function withMisreadUpdate(change: (parsed: ParsedUpdate, update: FakeUpdate) => ParsedUpdate) {
  return (context: PlatformContext) =>
    createAdapter(context, (update, info) => change(parseUpdate(update, info), update))
}

/** Changes the key of each message. */
export function withChangedKeys(change: (key: EventKey) => string): typeof parseUpdate {
  return (update, info) => {
    const parsed = parseUpdate(update, info)
    return parsed.kind === 'message' ? { ...parsed, keys: [brand<EventKey>(change(parsed.keys[0]))] } : parsed
  }
}

export function failedResult(problem: SendFailureKind): SendResult {
  return { success: false, problem, error: 'it did not work' }
}

/** A message with changed attachments. */
export function withChangedAttachments(
  parsed: ParsedUpdate,
  change: (files: readonly Attachment[]) => readonly Attachment[],
): ParsedUpdate {
  if (parsed.kind !== 'message' || parsed.event.attachments === undefined) return parsed
  return { ...parsed, event: { ...parsed.event, attachments: change(parsed.event.attachments) } }
}

/** Removes the first byte of the file. */
export function truncateFile(message: OutboundMessage): OutboundMessage {
  const { attachment } = message
  if (attachment?.source.kind !== 'file') return message
  const { source } = attachment
  const open = async () => (await source.open()).slice(1)
  return { ...message, attachment: { ...attachment, source: { ...source, open } } }
}
