/**
 * The methods of the Web API that an app of ours uses: `ok: true` with what they give back, or Slack's word for what is
 * wrong.
 */
import type { SlackApiCall } from './call.ts'
import { findInvalidBlocks, maxEditBytes, maxPostChars } from './limits.ts'
import type { Channel, Json, Message, Workspace } from './workspace.ts'

export interface WebApi {
  /** A body with `ok`. */
  answer(call: SlackApiCall): Json
}

export interface WebApiDeps {
  readonly workspace: Workspace
  readonly botToken: string
  readonly appToken: string
  /** The address of the server, as it is seen from outside. */
  origin(): string
  /** A ticket for one socket. */
  ticket(): string
  readonly files: Map<string, StoredFile>
  /** What the app may do. */
  readonly scopes: Set<string>
  /** Whether the workspace offers streaming: nowhere, in direct chats, everywhere. */
  readonly streaming: { offered: 'no' | 'direct' | 'everywhere' }
  readonly ephemerals: Json[]
  readonly statuses: Json[]
  changed(): void
}

export interface StoredFile {
  readonly id: string
  readonly name: string
  readonly length: number
  bytes: Uint8Array | undefined
}

const scopesOf: Readonly<Record<string, string>> = {
  'chat.postMessage': 'chat:write',
  'chat.update': 'chat:write',
  'chat.delete': 'chat:write',
  'chat.postEphemeral': 'chat:write',
  'chat.startStream': 'chat:write',
  'chat.appendStream': 'chat:write',
  'chat.stopStream': 'chat:write',
  'users.info': 'users:read',
  'conversations.open': 'im:write',
  'files.getUploadURLExternal': 'files:write',
  'files.completeUploadExternal': 'files:write',
  'files.info': 'files:read',
  'assistant.threads.setStatus': 'assistant:write',
}

export function createWebApi(deps: WebApiDeps): WebApi {
  const { workspace, botToken, appToken, origin, ticket, files, scopes, streaming, ephemerals, statuses } = deps
  const { bot } = workspace
  let calls = 0

  const methods: Readonly<Record<string, (call: SlackApiCall) => Json>> = {
    'auth.test': () => ({
      ok: true,
      url: `${origin()}/`,
      team: 'Test Team',
      user: bot.name,
      team_id: workspace.teamId,
      user_id: bot.userId,
      bot_id: bot.botId,
      is_enterprise_install: false,
    }),
    'apps.connections.open': () => ({ ok: true, url: `${origin().replace('http', 'ws')}/link/?ticket=${ticket()}` }),
    'chat.postMessage': postMessage,
    'chat.update': update,
    'chat.delete': remove,
    'chat.postEphemeral': (call) =>
      within(call, () => {
        ephemerals.push(Object.fromEntries(call.fields))
        deps.changed()
        return { ok: true, message_ts: workspace.nextTs() }
      }),
    'chat.startStream': startStream,
    'chat.appendStream': (call) => onStream(call, (message) => append(message, call)),
    'chat.stopStream': (call) =>
      onStream(call, (message) => {
        const appended = append(message, call)
        if (appended !== undefined) return appended
        message.streaming_state = 'completed'
        const metadata = call.json('metadata')
        if (isObject(metadata)) message.metadata = metadata
        return undefined
      }),
    'conversations.history': (call) => within(call, (channel) => page(call, channelMessages(channel))),
    'conversations.replies': replies,
    'conversations.open': (call) => {
      const id = `D${call.text('users').slice(1)}`
      if (!workspace.users.has(call.text('users'))) return errorResponse('user_not_found')
      if (workspace.channel(id) === undefined) workspace.addChannel(id, 'im')
      return { ok: true, channel: { id } }
    },
    'conversations.info': (call) => {
      const channel = workspace.channel(call.text('channel'))
      if (channel === undefined) return errorResponse('channel_not_found')
      return { ok: true, channel: { id: channel.id, name: channel.name, is_channel: channel.kind === 'channel' } }
    },
    'users.conversations': (call) => {
      const kinds = call.text('types').split(',')
      const kindOf = { channel: 'public_channel', group: 'private_channel', im: 'im', mpim: 'mpim' }
      const own = [...workspace.channels.values()].filter(
        ({ kind, joined, archived }) => joined && !archived && kinds.includes(kindOf[kind]),
      )
      // Pages of one channel.
      const start = Number(call.text('cursor') || '0')
      const next = start + 1 < own.length ? String(start + 1) : ''
      const channels = own.slice(start, start + 1).map(({ id, name }) => ({ id, name }))
      return { ok: true, channels, response_metadata: { next_cursor: next } }
    },
    'users.info': (call) => {
      const name = workspace.users.get(call.text('user'))
      if (name === undefined) return errorResponse('user_not_found')
      const profile = { display_name: name, real_name: name }
      return {
        ok: true,
        user: { id: call.text('user'), name, profile, ...workspace.userFields.get(call.text('user')) },
      }
    },
    'files.getUploadURLExternal': (call) => {
      calls += 1
      const id = `F0FILE${calls}`
      files.set(id, { id, name: call.text('filename'), length: Number(call.text('length')), bytes: undefined })
      return { ok: true, upload_url: `${origin()}/upload/${id}`, file_id: id }
    },
    'files.completeUploadExternal': completeUpload,
    'files.info': (call) => {
      const file = files.get(call.text('file'))
      return file === undefined ? errorResponse('file_not_found') : { ok: true, file: shownFile(file) }
    },
    'assistant.threads.setStatus': (call) =>
      within({ ...call, text: (name) => call.text(name === 'channel' ? 'channel_id' : name) }, () => {
        statuses.push(Object.fromEntries(call.fields))
        deps.changed()
        return { ok: true }
      }),
  }

  return {
    answer(call) {
      const wrong = wrongToken(call)
      if (wrong !== undefined) return errorResponse(wrong)
      const method = methods[call.method]
      if (method === undefined) return errorResponse('unknown_method')
      const needed = neededScope(call)
      if (needed !== undefined && !scopes.has(needed)) {
        return { ...errorResponse('missing_scope'), needed, provided: [...scopes].join(',') }
      }
      return method(call)
    },
  }

  function wrongToken({ token, method }: SlackApiCall): string | undefined {
    if (token === '') return 'not_authed'
    const wanted = method === 'apps.connections.open' ? appToken : botToken
    if (token === wanted) return undefined
    return token === botToken || token === appToken ? 'not_allowed_token_type' : 'invalid_auth'
  }

  function neededScope(call: SlackApiCall): string | undefined {
    if (call.method === 'users.conversations') {
      const needed = call.text('types').includes('private') ? ['channels:read', 'groups:read'] : ['channels:read']
      return needed.find((scope) => !scopes.has(scope))
    }
    if (!call.method.startsWith('conversations.') || call.method === 'conversations.open') return scopesOf[call.method]
    const kind = workspace.channel(call.text('channel'))?.kind
    const prefix = { im: 'im', mpim: 'mpim', channel: 'channels', group: 'groups' }[kind ?? 'channel']
    return call.method === 'conversations.info' ? `${prefix}:read` : `${prefix}:history`
  }

  function within(call: SlackApiCall, work: (channel: Channel) => Json): Json {
    const channel = workspace.channel(call.text('channel'))
    if (channel === undefined) return errorResponse('channel_not_found')
    if (channel.archived) return errorResponse('is_archived')
    return channel.joined ? work(channel) : errorResponse('not_in_channel')
  }

  function postMessage(call: SlackApiCall): Json {
    return within(call, (channel) => {
      const blocks = call.list('blocks') ?? []
      const whole = call.text('text')
      const thread = call.text('thread_ts')
      const wrong = findInvalidBlocks(blocks) ?? (whole === '' && blocks.length === 0 ? 'no_text' : undefined)
      if (wrong !== undefined) return errorResponse(wrong)
      if (thread !== '' && workspace.find(channel.id, thread) === undefined) return errorResponse('thread_not_found')
      const metadata = call.json('metadata')
      const text = cutOff(whole)
      const message = workspace.post(channel.id, {
        user: bot.userId,
        bot_id: bot.botId,
        text,
        ...(thread === '' ? {} : { thread_ts: thread }),
        ...(blocks.length === 0 ? {} : { blocks }),
        ...(isObject(metadata) ? { metadata } : {}),
      })
      const warning = text === whole ? {} : { response_metadata: { warnings: ['message_truncated'] } }
      return { ok: true, channel: channel.id, ts: message.ts, message: workspace.shown(message), ...warning }
    })
  }

  /** A text that is too long is posted all the same, without its end. */
  function cutOff(text: string): string {
    const letters = [...text]
    return letters.length > maxPostChars ? letters.slice(0, maxPostChars).join('') : text
  }

  function update(call: SlackApiCall): Json {
    return ownMessage(call, 'cant_update_message', (message, channel) => {
      if (message.streaming_state === 'in_progress') return errorResponse('streaming_state_conflict')
      const text = call.text('text')
      if (Buffer.byteLength(text) > maxEditBytes) return errorResponse('msg_too_long')
      const blocks = call.list('blocks')
      const wrong = findInvalidBlocks(blocks ?? [])
      if (wrong !== undefined) return errorResponse(wrong)
      if (text === '' && (blocks ?? []).length === 0) return errorResponse('no_text')
      const next = { text, ...(blocks === undefined ? {} : { blocks }) }
      workspace.edit(channel.id, message.ts, next, bot.userId)
      return { ok: true, channel: channel.id, ts: message.ts, text, message: workspace.shown(message) }
    })
  }

  function remove(call: SlackApiCall): Json {
    return ownMessage(call, 'cant_delete_message', (message, channel) => {
      if (message.streaming_state === 'in_progress') return errorResponse('cant_delete_message')
      workspace.remove(channel.id, message.ts)
      return { ok: true, channel: channel.id, ts: message.ts }
    })
  }

  function ownMessage(call: SlackApiCall, notOurs: string, work: (message: Message, channel: Channel) => Json): Json {
    return within(call, (channel) => {
      const message = workspace.find(channel.id, call.text('ts'))
      if (message === undefined) return errorResponse('message_not_found')
      return message.bot_id === bot.botId ? work(message, channel) : errorResponse(notOurs)
    })
  }

  function startStream(call: SlackApiCall): Json {
    if (streaming.offered === 'no') return errorResponse('unknown_method')
    return within(call, (channel) => {
      const direct = channel.kind === 'im'
      if (!direct && streaming.offered === 'direct') return errorResponse('channel_type_not_supported')
      const thread = call.text('thread_ts')
      if (thread === '') return errorResponse('invalid_thread_ts')
      if (!direct && call.text('recipient_user_id') === '') return errorResponse('missing_recipient_user_id')
      if (!direct && call.text('recipient_team_id') === '') return errorResponse('missing_recipient_team_id')
      const text = call.text('markdown_text')
      if (text.length > 12_000) return errorResponse('msg_too_long')
      const message = workspace.post(channel.id, {
        user: bot.userId,
        bot_id: bot.botId,
        text,
        thread_ts: thread,
        streaming_state: 'in_progress',
      })
      return { ok: true, channel: channel.id, ts: message.ts }
    })
  }

  function onStream(call: SlackApiCall, work: (message: Message) => Json | undefined): Json {
    if (streaming.offered === 'no') return errorResponse('unknown_method')
    return within(call, (channel) => {
      const message = workspace.find(channel.id, call.text('ts'))
      if (message === undefined) return errorResponse('message_not_found')
      if (message.streaming_state !== 'in_progress') return errorResponse('message_not_in_streaming_state')
      const wrong = work(message)
      deps.changed()
      return wrong ?? { ok: true, channel: channel.id, ts: message.ts }
    })
  }

  function append(message: Message, call: SlackApiCall): Json | undefined {
    const more = call.text('markdown_text')
    if (more.length > 12_000) return errorResponse('msg_too_long')
    if (call.method === 'chat.appendStream' && more === '') return errorResponse('no_text')
    message.text += more
    return undefined
  }

  function replies(call: SlackApiCall): Json {
    return within(call, (channel) => {
      const root = call.text('ts')
      const all = channel.messages.filter(({ deleted }) => deleted !== true)
      if (!all.some(({ ts }) => ts === root)) return errorResponse('thread_not_found')
      const thread = all.filter(({ ts, thread_ts }) => ts === root || thread_ts === root)
      // Oldest first; the first message of the thread always comes along.
      return page(call, thread, 'oldest first')
    })
  }

  /**
   * Channels are shown newest first, threads oldest first. With `oldest` but without `latest` the pages of a channel begin at
   * its oldest messages, too.
   */
  function page(
    call: SlackApiCall,
    all: readonly Message[],
    order: 'newest first' | 'oldest first' = 'newest first',
  ): Json {
    const oldest = Number(call.text('oldest') || 0)
    const latest = Number(call.text('latest') || Number.POSITIVE_INFINITY)
    const from = Number(call.text('cursor') || 0)
    const limit = Math.min(Number(call.text('limit') || 100), 999)
    const root = call.text('ts')
    const fitting = all
      .filter(({ ts }) => (Number(ts) > oldest && Number(ts) < latest) || ts === root)
      .toSorted((one, other) => Number(one.ts) - Number(other.ts))
    const startsAtOldest = order === 'oldest first' || (call.text('oldest') !== '' && call.text('latest') === '')
    const pageOf = (startsAtOldest ? fitting : fitting.toReversed()).slice(from, from + limit)
    const ordered = startsAtOldest && order === 'newest first' ? pageOf.toReversed() : pageOf
    const withMetadata = call.text('include_all_metadata') === 'true'
    const messages = ordered.map((message) => {
      const { metadata, ...shown } = withReplies(message)
      return withMetadata && metadata !== undefined ? { ...shown, metadata } : shown
    })
    const more = from + limit < fitting.length
    const next = more ? { response_metadata: { next_cursor: String(from + limit) } } : {}
    return { ok: true, messages, has_more: more, ...next }
  }

  function withReplies(message: Message): Json {
    const channel = [...workspace.channels.values()].find(({ messages }) => messages.includes(message))
    const answers = channel?.messages.filter(({ thread_ts, ts }) => thread_ts === message.ts && ts !== message.ts) ?? []
    const shown = workspace.shown(message)
    if (answers.length === 0) return shown
    const latest = answers.at(-1)?.ts
    return { ...shown, thread_ts: message.ts, reply_count: answers.length, latest_reply: latest }
  }

  function completeUpload(call: SlackApiCall): Json {
    const asked = call.list('files') ?? []
    const shown = asked.flatMap(({ id }) => {
      const file = typeof id === 'string' ? files.get(id) : undefined
      return file?.bytes === undefined ? [] : [shownFile(file)]
    })
    if (shown.length !== asked.length || shown.length === 0) return errorResponse('file_not_found')
    return within({ ...call, text: (name) => call.text(name === 'channel' ? 'channel_id' : name) }, (channel) => {
      const thread = call.text('thread_ts')
      workspace.post(channel.id, {
        user: bot.userId,
        bot_id: bot.botId,
        subtype: 'file_share',
        text: call.text('initial_comment'),
        files: shown,
        ...(thread === '' ? {} : { thread_ts: thread }),
      })
      return { ok: true, files: shown }
    })
  }

  function shownFile({ id, name, length }: StoredFile): Json {
    return { id, name, title: name, size: length, url_private_download: `${origin()}/files-pri/${id}/${name}` }
  }
}

/** Thread replies stand in the channel only where they were sent there, too. */
function channelMessages({ messages }: Channel): Message[] {
  return messages.filter(({ deleted, thread_ts, ts, subtype }) => {
    return deleted !== true && (thread_ts === undefined || thread_ts === ts || subtype === 'thread_broadcast')
  })
}

function errorResponse(error: string): Json {
  return { ok: false, error }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
