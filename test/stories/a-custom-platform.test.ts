import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { startDaemon } from './daemon.ts'

/** A platform of a user: a manifest and an adapter that imports only `#sdk`. */
const manifest = `name: notes
kind: platform
label: Notes
description: Answers what is posted to it.
access: allowlist
config_schema:
  greeting: {type: string, default: Dear}
`

const adapter = (sdk: string) => `
import { brand, definePlatform, type EventKey, type PlatformAdapter, type PlatformContext } from '${sdk}'

function createAdapter(context: PlatformContext): PlatformAdapter {
  const sent: string[] = []
  return {
    async connect() {
      context.route({
        method: 'POST',
        path: '/webhooks/notes',
        access: 'own',
        async handle(request) {
          const text = await request.text()
          const accepted = await context.accept(
            {
              source: { platform: context.platform, account: context.account, chatId: 'desk', chatType: 'dm', userId: 'ada' },
              text,
              messageType: 'text',
              timestamp: context.clock(),
            },
            [brand<EventKey>('notes:' + text)],
          )
          if (accepted.status === 'refused') return new Response(accepted.reason, { status: 403 })
          const { status } = await context.turns.waitForResult(accepted.seq, request.signal)
          return Response.json({ status, greeting: context.options['greeting'] })
        },
      })
      context.route({ method: 'GET', path: '/webhooks/notes', access: 'token', handle: () => Response.json(sent) })
    },
    async disconnect() {},
    async send({ text }) {
      sent.push(text)
      return { success: true }
    },
  }
}

export default definePlatform({ createAdapter })
`

for (const [sdk, folder] of [
  ['#sdk', 'platforms/notes'],
  ['hermes-gateway/sdk', 'plugins/platforms/notes'],
] as const) {
  test(`a platform in ${folder} of the home that imports ${sdk} works like a bundled one`, async (t) => {
    const gateway = await startTestGateway(t, {
      startNow: false,
      config: { platforms: { notes: { enabled: true, allow_from: ['ada'] }, fake: { enabled: false } } },
      prepare({ root }) {
        mkdirSync(join(root, folder), { recursive: true })
        writeFileSync(join(root, folder, 'plugin.yaml'), manifest)
        writeFileSync(join(root, folder, 'adapter.ts'), adapter(sdk))
      },
    })
    const daemon = startDaemon(t, gateway.home.root)
    const url = await daemon.ready
    await daemon.waitForLog({ event: 'platform.connected', platform: 'notes' })
    const answer = await fetch(`${url}/webhooks/notes`, { method: 'POST', body: 'hello' })
    assert.deepEqual(await answer.json(), { status: 'done', greeting: 'Dear' })
    await daemon.waitForLog({ event: 'outbox.delivered' })
    daemon.signal('SIGTERM')
    assert.equal(await daemon.exit(), 0)
    assert.equal(gateway.model.requestCount, 1)
  })
}

test('a broken platform does not affect others', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { platforms: { broken: { enabled: true }, throwing: { enabled: true } } },
    prepare({ platforms }) {
      for (const [name, source] of Object.entries({
        broken: 'export default definitely not a program',
        throwing: `export default { createAdapter() { throw new Error('no luck') } }`,
        manifestless: '',
      })) {
        mkdirSync(join(platforms, name), { recursive: true })
        writeFileSync(join(platforms, name, 'adapter.ts'), source)
        const text =
          name === 'manifestless' ? 'kind: platform\nname: [' : `name: ${name}\nkind: platform\naccess: token\n`
        writeFileSync(join(platforms, name, 'plugin.yaml'), text)
      }
    },
  })
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  const { platforms, degraded } = gateway.current().status()
  assert.equal(platforms['fake']?.state, 'connected')
  assert.equal(platforms['broken']?.state, 'failed')
  assert.match(platforms['broken']?.reason ?? '', /adapter\.ts/)
  assert.match(platforms['throwing']?.reason ?? '', /no luck/)
  assert.match(degraded.join(), /manifestless.*plugin\.yaml:2/)
})

test('the test kit is available as #sdk/testing', async () => {
  const kit = await import('#sdk/testing')
  assert.deepEqual(
    [kit.platformContract, kit.createRecordingContext, kit.startTestGateway].map((one) => typeof one),
    ['function', 'function', 'function'],
  )
})
