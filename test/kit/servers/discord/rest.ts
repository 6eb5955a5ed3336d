/**
 * Discord's REST API, version 10: the routes that a chat bot uses, with their responses and errors.
 */
import {
  type BotCall,
  done,
  inChannel,
  ok,
  type RestCall,
  type RestDeps,
  type RestResponse,
  refusalOrNoContent,
  refuse,
  withMessage,
} from './call.ts'
import { refusals } from './errors.ts'
import { intentBits } from './gateway.ts'
import { createMessage, deleteMessage, editMessage, messagePage, react, startThread } from './messages.ts'
import { listOf, validateCommands } from './validate.ts'

type Handler = (call: BotCall, deps: RestDeps) => RestResponse

const routes: readonly (readonly [route: string, handler: Handler])[] = [
  [
    'GET /gateway/bot',
    (_call, { gatewayUrl, gateway }) => ok({ url: gatewayUrl(), shards: 1, session_start_limit: { ...gateway.limit } }),
  ],
  ['GET /users/@me', ({ bot }) => ok({ ...bot.user, verified: true, mfa_enabled: false, flags: 0 })],
  [
    'GET /applications/@me',
    ({ bot }) =>
      ok({
        id: bot.applicationId,
        name: bot.user.username,
        bot: bot.user,
        approximate_guild_count: 1,
        flags: (bot.intents & intentBits.messageContent) === 0 ? 0 : 1 << 19,
      }),
  ],
  [
    'GET /channels/:id',
    ({ params, bot }, { world }) => inChannel(world, params, (one) => ok(world.shownChannel(one, bot.user))),
  ],
  [
    'GET /channels/:id/messages',
    ({ params, query }, { world }) => inChannel(world, params, (one) => messagePage(world, one, query)),
  ],
  [
    'GET /channels/:id/messages/:id',
    ({ params }, { world }) => withMessage(world, params, (one) => ok(world.shown(one))),
  ],
  ['POST /channels/:id/messages', createMessage],
  ['PATCH /channels/:id/messages/:id', editMessage],
  ['DELETE /channels/:id/messages/:id', deleteMessage],
  [
    'POST /channels/:id/typing',
    ({ params }, { world, typing }) =>
      inChannel(world, params, ({ id }) => {
        typing.push(id)
        return done
      }),
  ],
  ['POST /channels/:id/messages/:id/threads', startThread],
  ['PUT /channels/:id/messages/:id/reactions/:emoji/@me', (call, deps) => react(call, deps, true)],
  ['DELETE /channels/:id/messages/:id/reactions/:emoji/@me', (call, deps) => react(call, deps, false)],
  [
    'GET /guilds/:id/members/:id',
    ({ params }, { world }) => {
      const user = world.users.get(params[1] ?? '')
      return user === undefined ? refuse(refusals.unknownMember) : ok({ user, ...world.member(user.id) })
    },
  ],
  ['GET /applications/:id/commands', ({ params }, { commands }) => ok(commands.get(params[0] ?? '') ?? [])],
  ['PUT /applications/:id/commands', setCommands],
  [
    'POST /attachments/refresh-urls',
    ({ body }) => {
      const urls = Array.isArray(body.json['attachment_urls']) ? body.json['attachment_urls'].map(String) : []
      return ok({ refreshed_urls: urls.map((original) => ({ original, refreshed: refreshUrl(original) })) })
    },
  ],
]

/** Routes that are authorized by a token in the path. */
const tokenRoutes: readonly (readonly [route: string, handler: (call: RestCall, deps: RestDeps) => RestResponse])[] = [
  [
    'POST /interactions/:id/:token/callback',
    ({ params: [id = '', token = ''], body }, { interactions }) =>
      refusalOrNoContent(interactions.answer(id, token, body.json)),
  ],
  [
    'PATCH /webhooks/:id/:token/messages/@original',
    ({ params, body }, { interactions }) => refusalOrNoContent(interactions.follow(params[1] ?? '', body.json)),
  ],
  [
    'POST /webhooks/:id/:token',
    ({ params, body }, { interactions }) => refusalOrNoContent(interactions.follow(params[1] ?? '', body.json)),
  ],
]

const patterns = [...routes, ...tokenRoutes].map(([route]) => {
  const [method = '', path = ''] = route.split(' ')
  const source = path.replace(/:[a-z]+/g, '([^/]+)')
  return { route, method, path: new RegExp(`^${source}$`) }
})

/** The route of a call and its parameters. */
export function findRoute(method: string, path: string): { route: string; params: readonly string[] } | undefined {
  for (const pattern of patterns) {
    const match = pattern.method === method ? pattern.path.exec(path) : null
    if (match !== null) return { route: pattern.route, params: match.slice(1).map(decodeURIComponent) }
  }
  return undefined
}

export function handleCall(call: RestCall, deps: RestDeps): RestResponse {
  const open = tokenRoutes.find(([route]) => route === call.route)
  if (open !== undefined) return open[1](call, deps)
  const { bot } = call
  if (bot === undefined) return refuse(refusals.unauthorised)
  const handler = routes.find(([route]) => route === call.route)?.[1]
  return handler === undefined ? refuse(refusals.notFound) : handler({ ...call, bot }, deps)
}

function setCommands({ params, body }: RestCall, { world, commands, counts }: RestDeps): RestResponse {
  const application = params[0] ?? ''
  const refusal = validateCommands(body.list)
  if (refusal !== undefined) return refuse(refusal)
  counts.commandPuts += 1
  const known = body.list.map((command) => ({
    ...command,
    id: world.id(),
    application_id: application,
    version: world.id(),
    default_member_permissions: null,
    nsfw: false,
    // Empty fields are left out.
    ...(listOf(command, 'options').length === 0 ? { options: undefined } : {}),
  }))
  commands.set(application, known)
  return ok(known)
}

function refreshUrl(url: string): string {
  const fresh = new URL(url)
  fresh.searchParams.set('ex', Math.floor(Date.now() / 1_000 + 86_400).toString(16))
  return fresh.href
}
