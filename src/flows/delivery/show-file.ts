/**
 * Sends a file that a tool has made to the chat of the turn. It is stored together with the result of the call, so that it is sent
 * once even if the process ends in between. Loaded with the first one.
 */
import { targetOf } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { shownFileKey } from '../../outbox/queries.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TransactionPart } from '../../store/query.ts'
import { mediaTag } from './deliver.ts'

/** @param turn of a person who waits in a chat */
export function showFile(
  outbox: Pick<Outbox, 'prepare'>,
  { id, sessionKey, event, authority }: Pick<Turn, 'id' | 'sessionKey' | 'event' | 'authority'>,
  callId: string,
  { path, isVoice }: { readonly path: string; readonly isVoice: boolean },
): TransactionPart {
  const { source, messageId } = event
  return outbox.prepare({
    key: `${shownFileKey(id)}:${callId}`,
    target: targetOf(source),
    turnId: id,
    sessionKey,
    authority,
    kind: 'reply',
    text: `${isVoice ? '[[audio_as_voice]]\n' : ''}${mediaTag(path)}`,
    replyTo: messageId,
  })
}
