/**
 * The tools that list where messages can be sent, and send them.
 */
import { z } from 'zod'
import { sendResponse } from '../../api/management-shapes.ts'
import { HermesError } from '../../lib/errors.ts'
import { readOnly } from './conversations.ts'
import { callApi, toApiError, withQuery } from './gateway-api.ts'
import { defineTool } from './tool.ts'

const channelsShape = z.object({
  channels: z.array(
    z.object({
      target: z.string(),
      platform: z.string(),
      chat_id: z.string(),
      thread_id: z.string().nullable(),
      kind: z.string(),
      name: z.string().nullable(),
      connected: z.boolean(),
    }),
  ),
  next_cursor: z.string().nullable(),
})
type Channel = z.output<typeof channelsShape>['channels'][number]

const maxChannels = 1_000

export const channelsList = defineTool({
  name: 'channels_list',
  title: 'List channels',
  description: 'List the chats to which messages can be sent. `target` is for messages_send.',
  input: z.object({ platform: z.string().max(200).nullish().describe('Only this platform') }),
  annotations: readOnly,
  async call(api, { platform }, signal) {
    const found: Channel[] = []
    let cursor: string | undefined
    do {
      const query = { platform: platform?.toLowerCase() || undefined, limit: 200, cursor }
      const page: z.output<typeof channelsShape> = await callApi(
        api,
        withQuery('/api/channels', query),
        channelsShape,
        { signal },
      )
      found.push(...page.channels)
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && found.length < maxChannels)
    const channels = found.slice(0, maxChannels).map(({ name, ...channel }) => ({ ...channel, name: name ?? '' }))
    const isCut = cursor !== undefined || found.length > maxChannels
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
  async call(api, { target, message, idempotency_key: key }, signal) {
    const body = { targets: [target], text: message, ...(key === undefined ? {} : { key }) }
    const { results } = await callApi(api, '/api/send', sendResponse, { method: 'POST', body, signal })
    const [result] = results
    if (result === undefined || result.status === 'failed' || result.status === 'skipped') {
      const reason = result?.error ?? (result?.status === 'skipped' ? 'The chat takes no messages any more.' : '')
      throw toApiError(new HermesError('delivery/failed', reason))
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
        ...(error === undefined ? {} : { note: error }),
      },
    }
  },
})
