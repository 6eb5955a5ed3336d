import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import {
  type CommandTurn,
  createTurnAccess,
  type RunAgentCommand,
} from '../../../src/flows/environments/sandbox-sockets.ts'
import { brand } from '../../../src/lib/ids.ts'
import { createLog } from '../../../src/lib/log-writer.ts'
import { createSecretRegistry } from '../../../src/lib/redact.ts'
import type { Role } from '../../../src/message/authority.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import { tempHome } from '../../kit/temp-home.ts'

function turnOf(seq: number, role: Role): CommandTurn {
  const source = { platform: 'fake', account: 'default', chatId: `chat-${seq}`, chatType: 'dm' } as const
  const authority = { role, platform: 'fake', chatType: 'dm', userId: `user-${seq}` } as const
  return { seq, sessionKey: brand<SessionKey>(`key-${seq}`), source, authority }
}

const echo: RunAgentCommand = async ({ authority }, args) => ({
  output: `${authority.role} ${authority.userId}: ${args.join(' ')}`,
  errors: '',
  exitCode: 0,
})

/** The directory is deeper than the address of a socket can be. */
async function openAccess(t: TestContext, run: RunAgentCommand = echo) {
  const directory = join(tempHome(t), 'd'.repeat(process.platform === 'linux' ? 120 : 1))
  mkdirSync(directory, { mode: 0o700 })
  const ends = new Map([1, 2].map((seq) => [seq, Promise.withResolvers<void>()]))
  const secrets = createSecretRegistry()
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const log = createLog({ level: 'debug', pretty: false, stream, redactor: (line) => line })
  const access = createTurnAccess(directory, { secrets, ended: (seq) => ends.get(seq)?.promise, run }, log)
  t.after(() => access.close())
  const send = async (body: string) => {
    const socket = connectFrom(directory)
    socket.end(body)
    const answer: { output: string; errors: string; exitCode: number } = JSON.parse(await text(socket))
    return answer
  }
  return {
    access,
    secrets,
    lines,
    socketFile: join(directory, 'hermes.sock'),
    send,
    call: (token: string, ...args: string[]) => send(JSON.stringify({ token, args })),
    tokenOf: async (turn: CommandTurn) => (await access.variablesOf(turn, true))['HERMES_TURN_TOKEN'] ?? '',
    async end(seq: number) {
      ends.get(seq)?.resolve()
      await ends.get(seq)?.promise
    },
  }
}

/** Connects as a program whose working directory has the socket, which needs no long path. */
function connectFrom(directory: string): Socket {
  const previous = process.cwd()
  process.chdir(directory)
  try {
    return connect({ path: 'hermes.sock', allowHalfOpen: true })
  } finally {
    process.chdir(previous)
  }
}

test('two turns at once speak each for their own person', async (t) => {
  const { call, tokenOf } = await openAccess(t)
  const [owner, guest] = [await tokenOf(turnOf(1, 'owner')), await tokenOf(turnOf(2, 'guest'))]
  assert.notEqual(owner, guest)
  assert.equal((await call(owner, 'status')).output, 'owner user-1: status')
  assert.equal((await call(guest, 'status')).output, 'guest user-2: status')
  assert.equal(await tokenOf(turnOf(1, 'owner')), owner, 'all commands of a turn have one token')
})

test('the token of an ended turn and a forged one are refused, and the log says so without the token', async (t) => {
  const { call, tokenOf, end, lines } = await openAccess(t)
  const token = await tokenOf(turnOf(1, 'owner'))
  await end(1)
  for (const wrong of [token, '', 'x', `${token} `, token.slice(1), 'constructor', '../state.db']) {
    const { output, exitCode } = await call(wrong, 'version')
    assert.deepEqual([output, exitCode], ['', 1], wrong)
  }
  const rejected = lines.filter((line) => line.includes('agent_command.rejected'))
  assert.equal(rejected.length, 7)
  assert.ok(!lines.join('').includes(token))
})

test('a turn that is not running gets no token', async (t) => {
  const { access } = await openAccess(t)
  assert.deepEqual(await access.variablesOf(turnOf(3, 'owner'), true), {})
})

test('a token counts as a secret of the gateway, and tokens displace no other secret', async (t) => {
  const { secrets, tokenOf, end } = await openAccess(t)
  secrets.set('environment', ['a-former-secret-1'])
  secrets.set('environment', ['a-current-secret-1'])
  const token = await tokenOf(turnOf(1, 'owner'))
  assert.ok(secrets.distinctive().includes(token))
  for (let round = 0; round < 300; round++) secrets.setShortLived('turns', [`token-number-${round}`])
  await end(1)
  const known = new Set(secrets.all())
  assert.deepEqual(known, new Set(['token-number-299', 'a-current-secret-1', 'a-former-secret-1']))
})

test('the socket is private, and it is gone after the stop', async (t) => {
  const { access, socketFile, tokenOf } = await openAccess(t)
  assert.ok(!existsSync(socketFile), 'nothing listens before the first command')
  await tokenOf(turnOf(1, 'owner'))
  assert.equal(statSync(socketFile).mode & 0o777, 0o600)
  await access.close()
  assert.ok(!existsSync(socketFile))
})

test('malformed and long requests, failing commands and endless output get a bounded answer', async (t) => {
  const { call, send, tokenOf, lines } = await openAccess(t, async (_turn, [first]) => {
    if (first === 'fail') throw new Error('a reason for the log')
    return { output: 'x'.repeat(1_000_000), errors: '', exitCode: 0 }
  })
  const token = await tokenOf(turnOf(1, 'owner'))
  for (const body of ['', '{', '[]', '{"token":1,"args":[]}', JSON.stringify({ token, args: 'status' })])
    assert.equal((await send(body)).exitCode, 1, body)
  assert.equal((await call(token, 'a'.repeat(20_000))).exitCode, 1)
  assert.ok((await call(token, 'much')).output.length < 70_000)
  const failed = await call(token, 'fail')
  assert.ok(failed.exitCode === 1 && !failed.errors.includes('a reason for the log'))
  assert.ok(lines.some((line) => line.includes('agent_command.failed')))
})
