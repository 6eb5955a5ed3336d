/**
 * Changing and removing messages of ours. An edit holds less than a post: what does not fit goes into blocks, or the
 * message makes room for a new one.
 */
import type { OutboundMessage, SendResult } from '#sdk'
import { type ApiCall, type CallResult, toPostResult, toSendResult } from '../connection/api.ts'
import { isLongEdit, type Post, renderDraft, renderPosts, toBlockPost, truncateForEdit } from './render.ts'
import type { Streams } from './stream.ts'

export interface Edits {
  edit(channel: string, ts: string, message: OutboundMessage, final: boolean, signal: AbortSignal): Promise<SendResult>
  remove(channel: string, ts: string, signal: AbortSignal): Promise<SendResult>
}

export interface EditDeps {
  readonly call: ApiCall
  readonly streams: Streams
  readonly richBlocks: boolean
  /** A growing reply has been edited. */
  onDraftEdited(ts: string): void
}

export function createEdits({ call, streams, richBlocks, onDraftEdited: grew }: EditDeps): Edits {
  /** Slack has said that the text of an edit was too long; before that it is tried. */
  let editsAreShort = false

  return { edit, remove }

  async function edit(
    channel: string,
    ts: string,
    message: OutboundMessage,
    final: boolean,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const streamed = await (final ? streams.finish : streams.grow)(ts, message, channel, signal)
    if (streamed !== 'edit') return streamed
    return await (final ? showFinal : showDraft)(channel, ts, message, signal)
  }

  async function showDraft(
    channel: string,
    ts: string,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    grew(ts)
    const post = await renderDraft(message)
    if (!editsAreShort || !isLongEdit(post)) {
      const answer = await update(channel, ts, post, signal)
      if (!isTooLong(answer)) return toPostResult(answer, ts)
    }
    // The rest cannot be shown before the reply is done.
    return toPostResult(await update(channel, ts, { text: truncateForEdit(post.text) }, signal), ts)
  }

  async function showFinal(
    channel: string,
    ts: string,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const [post, ...more] = await renderPosts(message, { richBlocks })
    if (post === undefined || more.length > 0) return await removeForRepost(channel, ts, signal)
    if (!editsAreShort || !isLongEdit(post)) {
      const answer = await update(channel, ts, post, signal)
      if (!isTooLong(answer)) return toPostResult(answer, ts)
    }
    const short = toBlockPost(post)
    if (short === undefined) return await removeForRepost(channel, ts, signal)
    const answer = await update(channel, ts, short, signal)
    return isTooLong(answer) ? await removeForRepost(channel, ts, signal) : toPostResult(answer, ts)
  }

  function isTooLong(answer: CallResult): boolean {
    const tooLong = !answer.ok && /^msg_(too_long|blocks_too_long)$/.test(answer.failure.code ?? '')
    if (tooLong) editsAreShort = true
    return tooLong
  }

  /** The draft goes, and the caller hears that there is nothing to edit: it sends the reply as a message of its own. */
  async function removeForRepost(channel: string, ts: string, signal: AbortSignal): Promise<SendResult> {
    const removed = await remove(channel, ts, signal)
    if (!removed.success && removed.problem !== 'rejected') return removed
    return { success: false, problem: 'rejected', error: 'the text is too long for an edit' }
  }

  /** Without blocks those that stand there are taken away. An open stream refuses edits: it is closed first. */
  async function update(channel: string, ts: string, post: Post, signal: AbortSignal): Promise<CallResult> {
    const args = { channel, ts, text: post.text, blocks: post.blocks ?? [] }
    const answer = await call('chat.update', args, signal)
    if (answer.ok || answer.failure.code !== 'streaming_state_conflict') return answer
    await streams.close(ts, channel, signal)
    return await call('chat.update', args, signal)
  }

  async function remove(channel: string, ts: string, signal: AbortSignal): Promise<SendResult> {
    if (streams.isOpen(ts, channel)) await streams.close(ts, channel, signal)
    const answer = await call('chat.delete', { channel, ts }, signal)
    if (answer.ok || answer.failure.code !== 'cant_delete_message') return result(answer, ts)
    await streams.close(ts, channel, signal)
    return result(await call('chat.delete', { channel, ts }, signal), ts)
  }

  function result(answer: CallResult, ts: string): SendResult {
    return answer.ok ? { success: true, messageId: ts } : toSendResult(answer.failure)
  }
}
