/**
 * The tools that list where messages can be sent, and send them.
 */
import { z } from 'zod'
import { callRoute } from '../../api/client.ts'
import { listChannels, sendMessage } from '../../api/routes/messages.ts'
import type { ApiChannels } from '../../api/shapes/channels.ts'
import { HermesError } from '../../lib/errors.ts'
import { readOnly } from './conversations.ts'
import { defineTool } from './tool.ts'

const maxChannels = 1_000

export const channelsList = defineTool({
  name: 'channels_list',
  title: 'List channels',
  description: 'List the chats to which messages can be sent. `target` is for messages_send.',
  input: z.object({ platform: z.string().max(200).nullish().describe('Only this platform') }),
  annotations: readOnly,
  async call(gateway, { platform }, signal) {
    const matching: ApiChannels['channels'] = []
    let cursor: string | undefined
    do {
      const query = { platform: platform?.toLowerCase() || undefined, limit: 200, cursor }
      const page: ApiChannels = await callRoute(gateway, listChannels, { query, signal })
      matching.push(...page.channels)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && matching.length < maxChannels)
    const channels = matching
      .slice(0, maxChannels)
      .map(({ name, account: _, ...channel }) => ({ ...channel, name: name ?? '' }))
    const isCut = cursor !== undefined || matching.length > maxChannels
    return { value: { count: channels.length, channels, ...(isCut ? { truncated: true } : {}) } }
  },
})

export const messagesSend = defineTool({
  name: 'messages_send',
  title: 'Send a message',
  description:
    'Send a message to a chat as the gateway. It is stored before it is sent, so it is not lost; `queued` means that the platform has not confirmed it yet. Ask your user before you write to other people.',
  input: z.object({
    target: z
      .string()
      .min(1)
      .max(500)
      .describe('platform:chat_id as in channels_list, or a name: telegram:6308981865, discord:#general'),
    message: z.string().min(1).max(1_000_000).describe('The text, Markdown'),
    idempotency_key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('A second call with the same key sends nothing and returns the state of the first message'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  async call(gateway, { target, message, idempotency_key: key }, signal) {
    const body = { targets: [target], text: message, key }
    const { results } = await callRoute(gateway, sendMessage, { body, signal })
    const [result] = results
    if (result === undefined || result.status === 'failed' || result.status === 'skipped') {
      const reason = result?.error ?? (result?.status === 'skipped' ? 'The chat takes no messages any more.' : '')
      throw new HermesError('delivery/failed', reason)
    }
    const { status, chat = target, messageIds = [], error } = result
    return {
      value: {
        success: true,
        status,
        target,
        chat,
        platform: chat.split(':')[0] ?? '',
        message_id: messageIds[0] ?? '',
        message_ids: messageIds,
        note: error,
      },
    }
  },
})
