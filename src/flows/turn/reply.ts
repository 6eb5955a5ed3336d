/**
 * What people get when a turn ends, and where: the chat that the message came from, or the place that a background task
 * was told.
 */
import type { BackgroundTask, MessageEvent } from '../../message/event.ts'
import { isSilence } from '../../message/silence.ts'
import { targetOf } from '../../message/source.ts'
import type { DraftAddress, Reply } from '../../outbox/outbox.ts'
import type { Turn, TurnCompletion } from './journal.ts'

export interface ReplyContent extends Pick<TurnCompletion, 'state' | 'text' | 'message'> {
  /** Said by the gateway, not by the model. */
  readonly notice: boolean
}

/** The reply that ends a turn; a blank one sends nothing. */
export function buildReply(turn: Turn, answer: ReplyContent, draft: DraftAddress | null): Reply {
  const { event } = turn
  const { task, messageId } = event
  return {
    key: `turn:${turn.id}`,
    target: task?.deliver ?? targetOf(event.source),
    sessionKey: turn.sessionKey,
    turnId: turn.id,
    kind: answer.notice ? 'notice' : 'reply',
    text: task === undefined ? answer.text : taskReplyText(task, event, answer),
    ...(messageId === undefined ? {} : { replyTo: messageId }),
    ...(draft === null ? {} : { draft }),
  }
}

/** Nobody has watched it: what the model said on the way stays in the session, and a failure names what has failed. */
function taskReplyText(
  task: BackgroundTask,
  { source }: MessageEvent,
  { state, text, message, notice }: ReplyContent,
): string {
  if (task.deliver === null || text === '') return ''
  if (notice || state !== 'done') {
    const reason = state === 'done' ? 'The model answered with nothing.' : text
    return `⚠️ A background task (${source.userName ?? 'unnamed'}, ${task.id}) did not come to its end.\n\n${reason}`
  }
  const last = message?.content ?? ''
  const answer = last.trim() === '' ? text : last
  return isSilence(answer) ? '' : answer
}
