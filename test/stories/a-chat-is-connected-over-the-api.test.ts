/**
 * `/api/setup`: what the page does to connect a chat, on the real adapters in front of local servers.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startDiscordServer } from '../kit/servers/discord/server.ts'
import { startSlackServer } from '../kit/servers/slack/slack-server.ts'
import { startTelegramServer } from '../kit/servers/telegram-server.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

async function start(
  t: TestContext,
  platforms: Readonly<Record<string, unknown>>,
  prepare?: (home: TestGateway['home']) => void,
) {
  const gateway = await startTestGateway(t, {
    config: { platforms: { fake: { enabled: false }, ...platforms } },
    ...(prepare && { prepare }),
  })
  const read = async (response: Response) => ({ status: response.status, body: await response.json() })
  const get = async (path: string) => read(await gateway.http(`/api/setup/platforms${path}`))
  const post = async (path: string, values?: object) =>
    read(await gateway.post(`/api/setup/platforms/${path}`, values === undefined ? {} : { values }))
  return { gateway, get, post }
}

const statesOf = (body: unknown) => [at(body, 'checks')].flat().map((check) => at(check, 'state'))

test('a bot of Telegram is tried, stored and connected, and the person who writes first becomes its owner', async (t) => {
  const server = await startTelegramServer()
  const { gateway, get, post } = await start(t, { telegram: { api_root: server.url } })
  t.after(server.close)
  const { token, username } = server.bot
  const offered = await get('')
  const names = [at(offered.body, 'platforms')].flat().map((platform) => at(platform, 'name'))
  assert.deepEqual(
    names.filter((name) => ['discord', 'slack', 'telegram', 'web', 'webhook'].includes(String(name))),
    ['discord', 'slack', 'telegram'],
  )
  const form = await get('/telegram')
  assert.equal(at(form.body, 'fields', 0, 'key'), 'token')
  assert.equal(at(form.body, 'is_set'), false)
  assert.match(String(at(form.body, 'steps', 0, 'url')), /^https:\/\/t\.me\//)

  const wrong = await post('telegram/try', { token: '1:wrong-token-of-no-one' })
  assert.equal(wrong.status, 200)
  assert.deepEqual(statesOf(wrong.body), ['problem'])
  assert.equal(at(wrong.body, 'checks', 0, 'link'), 'https://t.me/BotFather')
  assert.equal(at(wrong.body, 'invitation'), undefined)
  assert.doesNotMatch(JSON.stringify(wrong.body), /wrong-token/)

  const tried = await post('telegram/try', { token: ` ${token} ` })
  assert.deepEqual(statesOf(tried.body), ['ok', 'ok'])
  assert.equal(at(tried.body, 'invitation', 'url'), `https://t.me/${username}`)
  assert.equal(existsSync(gateway.home.envFile), false)

  assert.deepEqual(await post('telegram/connect', { token }), { status: 200, body: { name: 'telegram' } })
  assert.match(readFileSync(gateway.home.envFile, 'utf8'), new RegExp(`TELEGRAM_BOT_TOKEN=.*${token}`))
  assert.equal(statSync(gateway.home.envFile).mode & 0o077, 0)
  assert.doesNotMatch(readFileSync(gateway.home.configFile, 'utf8'), new RegExp(token))
  await gateway.waitForLog({ event: 'platform.connected', platform: 'telegram' })
  const shown = await get('/telegram')
  assert.deepEqual([at(shown.body, 'is_set'), at(shown.body, 'state')], [true, 'connected'])
  assert.doesNotMatch(JSON.stringify([shown.body, (await get('')).body]), new RegExp(token))
  // A step that is repeated needs nothing that is stored already.
  assert.equal(at((await post('telegram/try')).body, 'invitation', 'name'), `@${username}`)

  await server.bot.say('hello').confirmed
  await server.bot.chats.until(({ text }) => /pairing approve/.test(text))
  const pending: unknown = await (await gateway.http('/api/pairing')).json()
  const code = at(pending, 'pending', 0, 'requestId')
  const approved = await gateway.post('/api/pairing/approve', { platform: 'telegram', code, role: 'owner' })
  assert.equal(at(await approved.json(), 'role'), 'owner')
  await server.bot.say('and now?').confirmed
  await server.bot.chats.until(({ text }) => text === 'You said: and now?')
})

test('a bot of Discord without its intent is told where to turn it on, and is invited with its permissions', async (t) => {
  const discord = await startDiscordServer({ messageContent: false })
  const ready = await startDiscordServer()
  const { post } = await start(t, { discord: { api_url: discord.apiUrl } })
  t.after(discord.close)
  t.after(ready.close)
  const refused = await post('discord/try', { token: discord.bot.token })
  const problem = [at(refused.body, 'checks')].flat().find((check) => at(check, 'state') === 'problem')
  assert.equal(at(problem, 'link'), `https://discord.com/developers/applications/${discord.bot.applicationId}/bot`)
  assert.equal(at(refused.body, 'invitation'), undefined)

  const { post: again } = await start(t, { discord: { api_url: ready.apiUrl } })
  const tried = await again('discord/try', { token: ready.bot.token })
  const invitation = new URL(String(at(tried.body, 'invitation', 'url')))
  assert.equal(invitation.searchParams.get('client_id'), ready.bot.applicationId)
  assert.equal(invitation.searchParams.get('permissions'), '309237763136')
})

test('an app of Slack needs both of its tokens, and its missing scopes are named with the page for them', async (t) => {
  const slack = await startSlackServer()
  const { gateway, get, post } = await start(t, { slack: { api_url: slack.apiUrl } })
  t.after(slack.close)
  const { botToken: bot_token, appToken: app_token } = slack
  const form = await get('/slack')
  const url = new URL(String(at(form.body, 'steps', 0, 'url')))
  assert.equal(at(JSON.parse(url.searchParams.get('manifest_json') ?? ''), 'settings', 'socket_mode_enabled'), true)
  assert.equal((await post('slack/try', { bot_token })).status, 400)
  slack.scopes.delete('im:history')
  const without = await post('slack/try', { bot_token, app_token })
  assert.match(JSON.stringify(without.body), /im:history.*https:\/\/api\.slack\.com\/apps/)
  slack.scopes.add('im:history')
  const tried = await post('slack/try', { bot_token, app_token })
  assert.match(String(at(tried.body, 'invitation', 'url')), /^https:\/\/slack\.com\/app_redirect\?team=/)
  assert.equal((await post('slack/connect', { bot_token, app_token })).status, 200)
  await slack.socketsOpen(1)
  assert.match(readFileSync(gateway.home.envFile, 'utf8'), /SLACK_BOT_TOKEN=.*\nSLACK_APP_TOKEN=/)
})

test('a platform of another author gets the same page, and what it quotes is not shown', async (t) => {
  const { gateway, get, post } = await start(t, {}, ({ platforms }) => {
    const folder = join(platforms, 'pigeon')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'plugin.yaml'),
      `{ name: pigeon, kind: platform, label: Pigeon post, config_schema: {
         loft: { type: string, required: true, description: Where the pigeons live. },
         seed: { type: string, required: true, secret: true }, birds: { type: number } },
         setup: { fields: [loft, seed, birds] } }`,
    )
    writeFileSync(
      join(folder, 'adapter.mjs'),
      `export default {
        createAdapter: () => ({ connect: async () => {}, disconnect: async () => {}, send: async () => ({ kind: 'sent' }) }),
        diagnose: async ({ options }) => [{ state: 'note', text: 'seed ' + options.seed, link: 'javascript:alert(1)' }],
        invite: async () => ({ name: 'coo', url: 'javascript:alert(1)', advice: '' }) }`,
    )
  })
  const form = await get('/pigeon')
  assert.deepEqual(
    [at(form.body, 'fields')].flat().map((field) => [at(field, 'label'), at(field, 'secret')]),
    [
      ['Loft', false],
      ['Seed', true],
      ['Birds', false],
    ],
  )
  const values = { loft: 'the attic', seed: 'grain-of-a-secret', birds: '3' }
  const tried = await post('pigeon/try', values)
  assert.deepEqual(tried.body, { checks: [{ state: 'note', text: 'seed …' }] })
  assert.equal((await post('pigeon/connect', values)).status, 200)
  const config = readFileSync(gateway.home.configFile, 'utf8')
  assert.match(config, /the attic/)
  assert.match(config, /\$\{PIGEON_SEED\}/)
  assert.match(readFileSync(gateway.home.envFile, 'utf8'), /^PIGEON_SEED=grain-of-a-secret$/m)
  await gateway.waitForLog({ event: 'platform.connected', platform: 'pigeon' })
})

test('what cannot be connected is refused with the reason, and nothing is stored', async (t) => {
  const { gateway, post } = await start(t, {})
  const before = readFileSync(gateway.home.configFile, 'utf8')
  const refused: readonly (readonly [platform: string, values: object])[] = [
    ['no-such-platform', {}],
    ['web', {}],
    ['telegram', {}],
    ['telegram', { token: '' }],
    ['telegram', { token: 'a\nb' }],
    ['telegram', { token: '${HOME}' }],
    ['telegram', { token: 7 }],
    ['telegram', { token: '1:abc', allow_all_users: 'true' }],
  ]
  for (const [platform, values] of refused)
    for (const action of ['try', 'connect']) {
      const answer = await post(`${platform}/${action}`, values)
      assert.equal(answer.status, 400, `${platform} ${JSON.stringify(values)}`)
    }
  assert.equal(readFileSync(gateway.home.configFile, 'utf8'), before)
  assert.equal(existsSync(gateway.home.envFile), false)
})

test('only the owner reaches it', async (t) => {
  const { gateway } = await start(t, {})
  const { url } = gateway.current()
  const routes = [
    ['GET', ''],
    ['GET', '/telegram'],
    ['POST', '/telegram/try'],
    ['POST', '/telegram/connect'],
  ]
  for (const [method = '', path = ''] of routes) {
    const init = { method, ...(method === 'POST' && { body: '{"values":{"token":"1:abcdefgh"}}' }) }
    const headers = { 'content-type': 'application/json' }
    const stranger = await fetch(`${url}/api/setup/platforms${path}`, { ...init, headers })
    assert.equal(stranger.status, 401, path)
    const forged = { ...headers, origin: 'https://evil.example', authorization: `Bearer ${gateway.current().token()}` }
    const page = await fetch(`${url}/api/setup/platforms${path}`, { ...init, headers: forged })
    assert.equal(page.status, 403, path)
  }
  assert.equal(existsSync(gateway.home.envFile), false)
})
