/**
 * Notices about a turn that does not end soon. Each is stored and sent once, whatever the number of restarts.
 */
import { formatDuration } from '../../lib/duration.ts'
import { hasWaitingUser, type MessageEvent } from '../../message/event.ts'
import { targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Store } from '../../store/store.ts'
import type { ModelNotices } from '../models/agent-models.ts'

export interface TurnNotices extends ModelNotices {
  /** The turn continues later, after crashes of the gateway. Rejects `store/...`. */
  postponed(event: MessageEvent, turnId: string, until: number): Promise<void>
  /** The turn waits for the provider of the model. `reason` is for people. Rejects `store/...`. */
  waitingForModel(event: MessageEvent, turnId: string, reason: string): Promise<void>
  /** The message waits until the agent goes on. `key` names the pause and the conversation. Rejects `store/...`. */
  paused(event: MessageEvent, key: string, reason: string): Promise<void>
  /** The owner learns once that the agent works without a sandbox. `owner` names the owner. Rejects `store/...`. */
  withoutSandbox(event: MessageEvent, owner: string): Promise<void>
  /** A command waits until its environment is ready, such as for the download of an image. Rejects `store/...`. */
  preparingEnvironment(event: MessageEvent, turnId: string, text: string): Promise<void>
  /** The oldest part of the conversation is left out of what the model reads. Rejects `store/...`. */
  partLeftOut(event: MessageEvent, turnId: string): Promise<void>
  /** The turn goes on after a restart that was asked for. Rejects `store/...`. */
  resumed(event: MessageEvent, turnId: string): Promise<void>
  /** The turn is ended because a user refused several commands in a row. Rejects `store/...`. */
  endedAfterRefusals(event: MessageEvent, turnId: string): Promise<void>
}

export function createTurnNotices(store: Store, outbox: Pick<Outbox, 'prepare'>, clock: () => number): TurnNotices {
  async function notify(event: MessageEvent, key: string, text: string): Promise<void> {
    if (!hasReader(event)) return
    const { source, messageId: replyTo } = event
    await store.commit(outbox.prepare({ key, target: targetOf(source), kind: 'notice', text, replyTo }), clock)
  }

  return {
    postponed: (event, turnId, until) =>
      notify(
        event,
        `turn:${turnId}:postponed`,
        `The gateway ended unexpectedly while it processed this message. It tries again in ${formatDuration(inWholeMinutes(until - clock()))}. Send /stop to cancel.`,
      ),
    withoutSandbox: (event, owner) =>
      notify(
        event,
        `sandbox:missing:${owner}`,
        '⚠️ No sandbox works on this machine. I therefore run commands and write files only for owners like you, and those commands may do everything that the gateway may do. Install bubblewrap (apt-get install bubblewrap) and restart the gateway, or set terminal.sandbox: off to keep it so. hermes doctor says what was tried.',
      ),
    preparingEnvironment: (event, turnId, text) => notify(event, `turn:${turnId}:place:${text}`, `⏳ ${text}`),
    endedAfterRefusals: (event, turnId) =>
      notify(
        event,
        `turn:${turnId}:refusals`,
        'You refused three commands in a row, so I stopped. Tell me how to go on.',
      ),
    partLeftOut: (event, turnId) =>
      notify(
        event,
        `turn:${turnId}:left-out`,
        '⚠️ This conversation is longer than the model can read, and no usable summary could be written. I go on without its oldest part; the history keeps it. `/new` starts an empty conversation.',
      ),
    resumed: (event, turnId) =>
      notify(event, `turn:${turnId}:resumed`, '♻️ The gateway was restarted. I go on with your message.'),
    waitingForModel: (event, turnId, reason) =>
      notify(event, `turn:${turnId}:outage`, `⏳ ${reason} Your message waits. Send /stop to cancel.`),
    fellBack(event, turnId, { failed, next, restsUntil }) {
      if (restsUntil === 0)
        return notify(event, `turn:${turnId}:fallback`, `⚠️ ${failed} does not answer. ${next} finishes this turn.`)
      const { platform, account, chatId, threadId = '' } = event.source
      // Once for each rest, not for each of its turns.
      const key = `rest:${failed}:${restsUntil}:${platform}:${account}:${chatId}:${threadId}`
      const rest = formatDuration(inWholeMinutes(restsUntil - clock()))
      return notify(event, key, `⚠️ ${failed} accepts no key for ${rest}. ${next} answers meanwhile.`)
    },
    modelUnusable: (event, key, chosen, why, instead) =>
      notify(
        event,
        `model:${key}`,
        `⚠️ ${chosen}, the model of this conversation, cannot be used: ${why} ${instead} answers instead. \`/model\` chooses another one.`,
      ),
    paused: (event, key, reason) =>
      notify(
        event,
        key,
        `⏸ I am paused${reason === '' ? '' : `: ${reason}`}. Your message is kept, and I answer it when I go on.`,
      ),
  }
}

/** A background task and a program have no user who waits in a chat. A question of the command line shows what it waits for. */
function hasReader(event: MessageEvent): boolean {
  return event.task === undefined && (hasWaitingUser(event) || event.metadata?.['notices'] === 'yes')
}

function inWholeMinutes(ms: number): number {
  return Math.ceil(ms / 60_000) * 60_000
}
