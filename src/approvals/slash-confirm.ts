/**
 * Asks for confirmation of a destructive command (contract §3.9, slash-confirm): once, always or cancel.
 */
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { TransactionPart } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalsConfig } from './config.ts'
import { isGrantedInSession } from './queries.ts'
import type { Questions } from './questions.ts'

export interface DestructiveCommand {
  /** The canonical name. */
  readonly name: string
  /** Its effect, as the rest of a sentence that begins with the command. */
  readonly destroys: string
  /** What decides whether it is asked. */
  readonly setting: 'destructive_slash_confirm' | 'mcp_reload_confirm'
  readonly event: MessageEvent
  readonly sessionKey: SessionKey
}

/** The confirmation question; undefined lets the command run. Rejects `store/...`. */
export type SlashConfirm = (command: DestructiveCommand) => Promise<TransactionPart<string> | undefined>

export function createSlashConfirm(
  store: Store,
  questions: Pick<Questions, 'ask'>,
  settings: () => ApprovalsConfig,
): SlashConfirm {
  return async ({ name, destroys, setting, event, sessionKey }) => {
    const { [setting]: isEnabled, timeout } = settings().approvals
    if (!isEnabled || isConfirmed(event)) return undefined
    const rule = `slash:${name}`
    if (await store.run(() => isGrantedInSession(sessionKey, rule))) return undefined
    const { source, messageId } = event
    const confirmed = { ...event, metadata: { ...event.metadata, confirmed: name } }
    return questions.ask({
      kind: 'slash-confirm',
      sessionKey,
      source,
      text: `\`/${name}\` ${destroys} Go on?`,
      choices: [
        {
          answer: 'once',
          label: 'Approve once',
          style: 'primary',
          typed: ['approve'],
          effect: { says: 'Going on.', event: confirmed },
        },
        {
          answer: 'always',
          label: 'Always approve',
          typed: ['approve always', 'approve session'],
          effect: { says: `Going on. I will not ask about /${name} here again.`, event: confirmed, grants: [rule] },
        },
        { answer: 'cancel', label: 'Cancel', style: 'danger', typed: ['deny'], effect: { says: 'Cancelled.' } },
      ],
      unanswered: { says: `/${name} was not run.` },
      timeoutMs: timeout * 1_000,
      replyTo: messageId,
    })
  }
}

/** Only internal events can be confirmed: the answer to the question stores one. */
export function isConfirmed({ internal, metadata }: MessageEvent): boolean {
  return internal === true && metadata?.['confirmed'] !== undefined
}
