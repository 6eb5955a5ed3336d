/**
 * Which commands get the token of a turn, and what it opens.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Sandbox, SandboxKind } from '../../../src/agent/sandbox/sandbox.ts'
import { installPrograms } from '../../../src/flows/environments/open-sandbox.ts'
import { createSandboxSockets } from '../../../src/flows/environments/sandbox-sockets.ts'
import { isBearerToken } from '../../../src/http/access.ts'
import { brand } from '../../../src/lib/ids.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createSecretRegistry } from '../../../src/lib/redact.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import { createVictim, sandboxSkip } from '../../agent/sandbox/victim.ts'
import { runServer, secret, sendRequest } from '../../http/support.ts'
import { tempHome } from '../../kit/temp-home.ts'

const source = { platform: 'fake', account: 'default', chatId: 'c', chatType: 'dm', userId: 'u' } as const
const authority = { role: 'owner', platform: 'fake', chatType: 'dm', userId: 'u' } as const
const event = { source, text: 'x', messageType: 'text', timestamp: 0, allowGatewayControl: true } as const
const turn = { seq: 1, sessionKey: brand<SessionKey>('key'), event, authority }

function sandboxOf(t: TestContext, kind: SandboxKind): Sandbox {
  const binDirectory = join(tempHome(t), 'bin')
  mkdirSync(binDirectory, { mode: 0o700, recursive: true })
  const view = { hidden: [], readOnly: [], writable: [], privateTmp: undefined }
  return {
    ...{ kind, reason: '', view, variables: {}, binDirectory },
    wrap: (argv) => argv,
    toHostPath: (path) => path,
    accessOf: () => 'readOnly',
    hiddenReason: () => undefined,
  }
}

function openSockets(t: TestContext) {
  const settings = () => {
    throw new Error('no command asks for the network')
  }
  const sockets = createSandboxSockets(settings, silentLog, {
    secrets: createSecretRegistry(),
    ended: () => new Promise<void>(() => undefined),
    run: async (_, [command = '']) => ({ output: `${command} of the turn\n`, errors: '', exitCode: 0 }),
  })
  t.after(() => sockets.close())
  return sockets
}

test('only a command of a turn in the sandbox has a token: not a script of a job, of a plugin or outside of the sandbox', async (t) => {
  const { variablesOf } = openSockets(t)
  assert.deepEqual(Object.keys(await variablesOf(turn, sandboxOf(t, 'bwrap'))), ['HERMES_TURN_TOKEN'])
  assert.deepEqual(await variablesOf(turn, sandboxOf(t, 'none')), {})
  assert.deepEqual(await variablesOf({ authority }, sandboxOf(t, 'bwrap')), {})
})

test('the token of a turn opens nothing at the HTTP server', async (t) => {
  const { HERMES_TURN_TOKEN: token = '' } = await openSockets(t).variablesOf(turn, sandboxOf(t, 'bwrap'))
  assert.equal(isBearerToken(`Bearer ${token}`, secret), false)
  const { port } = await runServer(t)
  for (const authorization of [`Bearer ${token}`, `Bearer ${token}${secret}`, token]) {
    const { status } = await sendRequest(port, { path: '/token', headers: { authorization } })
    assert.equal(status, 401)
  }
})

const landlockSkip = await sandboxSkip('landlock')

test('a command in Landlock, which has no Unix sockets, calls hermes with the token of its turn', {
  skip: landlockSkip,
}, async (t) => {
  const victim = await createVictim({ setting: 'landlock' })
  t.after(() => victim[Symbol.asyncDispose]())
  const { binDirectory = '' } = victim.sandbox
  await installPrograms(binDirectory)
  const { variablesOf } = openSockets(t)
  const variables = await variablesOf(turn, victim.sandbox)
  const run = (more: object) => victim.run('hermes status', { variables: { ...variables, ...more } })
  assert.equal((await run({})).output, 'status of the turn\n')
  assert.match((await run({ HERMES_TURN_TOKEN: 'wrong' })).output, /its token is wrong/)
})
