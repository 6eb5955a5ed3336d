/**
 * Edits and deletes messages of the bot. An edit may be shorter than a post: a longer text is sent as blocks, or the message
 * is replaced by a new one.
 */
import type { OutboundMessage, SendResult } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { type CallResult, toPostResult } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import type { EditThrottle } from './edit-throttle.ts'
import { isLongEdit, type Post, renderDraft, renderPosts, toBlockPost, truncateForEdit } from './render.ts'
import type { Streams } from './stream.ts'

export function createEdits({ call, options }: SlackAccount, streams: Streams, throttle: EditThrottle) {
  /** Slack has rejected the text of an edit as too long. */
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
    throttle.recordEdit(ts, 'edit')
    const post = await renderDraft(message)
    if (!editsAreShort || !isLongEdit(post)) {
      const result = await update(channel, ts, post, signal)
      if (!isTooLong(result)) return toPostResult(result, ts)
    }
    // The rest is shown when the reply is complete.
    return toPostResult(await update(channel, ts, { text: truncateForEdit(post.text) }, signal), ts)
  }

  async function showFinal(
    channel: string,
    ts: string,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const [post, ...more] = await renderPosts(message, options)
    if (post === undefined || more.length > 0) return await removeForRepost(channel, ts, signal)
    if (!editsAreShort || !isLongEdit(post)) {
      const result = await update(channel, ts, post, signal)
      if (!isTooLong(result)) return toPostResult(result, ts)
    }
    const short = toBlockPost(post)
    if (short === undefined) return await removeForRepost(channel, ts, signal)
    const result = await update(channel, ts, short, signal)
    return isTooLong(result) ? await removeForRepost(channel, ts, signal) : toPostResult(result, ts)
  }

  function isTooLong(result: CallResult): boolean {
    const tooLong = !result.ok && /^msg_(too_long|blocks_too_long)$/.test(result.failure.code ?? '')
    if (tooLong) editsAreShort = true
    return tooLong
  }

  /** Deletes the draft and rejects the edit, so that the outbox sends the reply as a new message. */
  async function removeForRepost(channel: string, ts: string, signal: AbortSignal): Promise<SendResult> {
    const removed = await remove(channel, ts, signal)
    if (!removed.success && removed.problem !== 'rejected') return removed
    return { success: false, problem: 'rejected', error: 'the text is too long for an edit' }
  }

  /** An edit without blocks removes the existing ones. Slack rejects the edit of an open stream, so it is closed first. */
  async function update(channel: string, ts: string, post: Post, signal: AbortSignal): Promise<CallResult> {
    const args = { channel, ts, text: post.text, blocks: post.blocks ?? [] }
    const result = await call('chat.update', args, signal)
    if (result.ok || result.failure.code !== 'streaming_state_conflict') return result
    await streams.close(ts, channel, signal)
    return await call('chat.update', args, signal)
  }

  async function remove(channel: string, ts: string, signal: AbortSignal): Promise<SendResult> {
    if (streams.isOpen(ts, channel)) await streams.close(ts, channel, signal)
    const result = await call('chat.delete', { channel, ts }, signal)
    if (result.ok || result.failure.code !== 'cant_delete_message') return toResult(result, ts)
    await streams.close(ts, channel, signal)
    return toResult(await call('chat.delete', { channel, ts }, signal), ts)
  }

  function toResult(result: CallResult, ts: string): SendResult {
    return result.ok ? { success: true, messageId: ts } : toSendResult(result.failure)
  }
}
