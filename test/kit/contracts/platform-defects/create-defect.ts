/**
 * How an adapter comes by a defect: the fake platform's adapter with a part that is wrong, a gateway that it is misled
 * about, or an update that it mishears.
 */
import { brand } from '../../../../src/lib/ids.ts'
import type { Attachment } from '../../../../src/message/event.ts'
import type { EventKey } from '../../../../src/message/ids.ts'
import type { OutboundMessage, SendFailureKind, SendResult } from '../../../../src/message/outbound.ts'
import type { PlatformAdapter, PlatformContext } from '../../../../src/platforms/adapter.ts'
import { createAdapter } from '../../fake-platform-adapter.ts'
import { type FakeUpdate, type ParsedUpdate, parseUpdate } from '../../fake-platform-updates.ts'

export interface Defect {
  /** The promise it is made for; then those that it cannot help breaking, too. */
  readonly breaks: readonly string[]
  create(context: PlatformContext): PlatformAdapter
}

type FakeAdapter = PlatformAdapter & Required<Pick<PlatformAdapter, 'edit' | 'remove' | 'typing' | 'resolveUnknown'>>

/** An adapter of which one part is wrong. */
export function withDefect(change: (honest: FakeAdapter, context: PlatformContext) => Partial<PlatformAdapter>) {
  return (context: PlatformContext): PlatformAdapter => {
    const honest = createAdapter(context)
    const { edit, remove, typing, resolveUnknown } = honest
    if (!edit || !remove || !typing || !resolveUnknown) throw new Error('the fake platform can do all of this')
    return { ...honest, ...change({ ...honest, edit, remove, typing, resolveUnknown }, context) }
  }
}

/** An adapter that fails to send what it need not fail to send. */
export function withFailingSend(problemOf: (message: OutboundMessage) => SendFailureKind | undefined) {
  return withDefect((honest) => ({
    async send(message, signal) {
      const problem = problemOf(message)
      return problem === undefined ? honest.send(message, signal) : failedResult(problem)
    },
  }))
}

type SendFailure = Extract<SendResult, { success: false }>

/** An adapter that tells wrongly how a send has failed. */
export function withWrongResult(change: (result: SendFailure) => SendFailure) {
  return withDefect((honest) => ({
    async send(message, signal) {
      const result = await honest.send(message, signal)
      return result.success ? result : change(result)
    },
  }))
}

/** An adapter that gets another gateway than it should. */
export function withChangedContext(change: (context: PlatformContext) => Partial<PlatformContext>) {
  return (context: PlatformContext) => createAdapter({ ...context, ...change(context) })
}

/** An adapter that takes what it hears for something else. */
export function withMisreadUpdate(change: (meant: ParsedUpdate, update: FakeUpdate) => ParsedUpdate) {
  return (context: PlatformContext) =>
    createAdapter(context, (update, facts) => change(parseUpdate(update, facts), update))
}

/** Messages get another name. */
export function withChangedKeys(change: (key: EventKey) => string): typeof parseUpdate {
  return (update, facts) => {
    const meant = parseUpdate(update, facts)
    return meant.kind === 'message' ? { ...meant, keys: [brand<EventKey>(change(meant.keys[0]))] } : meant
  }
}

export function failedResult(problem: SendFailureKind): SendResult {
  return { success: false, problem, error: 'it did not work' }
}

/** A message with other files. */
export function withChangedAttachments(
  meant: ParsedUpdate,
  change: (files: readonly Attachment[]) => readonly Attachment[],
): ParsedUpdate {
  if (meant.kind !== 'message' || meant.event.attachments === undefined) return meant
  return { ...meant, event: { ...meant.event, attachments: change(meant.event.attachments) } }
}

/** The first byte of the file is lost. */
export function truncateFile(message: OutboundMessage): OutboundMessage {
  const { attachment } = message
  if (attachment?.source.kind !== 'file') return message
  const { source } = attachment
  const open = async () => (await source.open()).slice(1)
  return { ...message, attachment: { ...attachment, source: { ...source, open } } }
}
