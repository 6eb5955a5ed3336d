import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, runCommand, terminalCall } from './support.ts'

const ada = { user: 'ada', chat: 'ada-dm' }
const bob = { user: 'bob', chat: 'bob-dm' }

function config(quick_commands: Readonly<Record<string, unknown>>) {
  return { roles: { owners: ['fake:ada'] }, quick_commands }
}

test('a quick command runs a shell command and replies with its output, without the model', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({
      hello: { type: 'exec', command: "printf 'hi %s' there; echo; echo '```'; env" },
      fails: { type: 'exec', command: 'echo why; exit 3' },
      open: { type: 'exec', command: 'echo for all', everybody: true },
    }),
    gateway: { environment: { PATH: process.env['PATH'], FAKE_API_KEY: 'a-secret-of-the-gateway' } },
  })
  const output = await runCommand(gateway, '/hello', ada)
  assert.match(output, /hi there/)
  assert.doesNotMatch(output, /a-secret-of-the-gateway|test-key/)
  assert.match(await runCommand(gateway, '/fails', ada), /3[\s\S]*why/)
  assert.match(await runCommand(gateway, '/hello', bob), /owners/)
  assert.match(await runCommand(gateway, '/open', bob), /for all/)
  assert.deepEqual(gateway.model.requests, [])
})

test('a quick command that was stopped does not run again after a crash', async (t) => {
  const gateway = await startTestGateway(t, { config: config({ note: { type: 'exec', command: 'echo ran' } }) })
  assert.match(await runCommand(gateway, '/note', ada), /ran/)
  await runCommand(gateway, '/stop', ada)
  await gateway.stop()
  // A kill before the result of the command is stored leaves this state.
  const database = new DatabaseSync(gateway.home.databaseFile)
  database.exec(`update inbox set state = 'claimed', outcome = null where payload like '%/note%';
    delete from outbox where text like '%ran%'`)
  database.close()
  await gateway.start()
  assert.match((await gateway.waitForReply(/was stopped/, ada.chat)).text, /note/)
  assert.equal(rowsIn(gateway.home, "select seq from inbox where state <> 'done'").length, 0)
})

test('/stop overtakes the commands of another person, of which only a limited number waits', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      ...config({ wait: { type: 'exec', command: 'touch started; sleep 60', timeout: 60 } }),
      group_sessions_per_user: false,
      display: { busy_queue_limit: 5 },
    },
  })
  const room = { chat: 'room', chatType: 'group' } as const
  await gateway.say('/wait', { ...room, user: 'ada' })
  await gateway.waitForLog({ event: 'command.started' })
  for (let index = 0; index < 8; index += 1) await gateway.say('/whoami', { ...room, user: 'bob' })
  const waiting = "select count(*) as n from inbox where lane = 'control' and state = 'queued'"
  assert.deepEqual(rowsIn(gateway.home, waiting)[0]?.['n'], 5)
  await gateway.say('/stop', { ...room, user: 'ada' })
  await gateway.until(({ key, text }) => key.startsWith('refused:') && text.includes('3 messages'))
  await gateway.until(({ key }) => key.startsWith('command:2:'))
  const replies = gateway.platform.shown('room').filter(({ key }) => key.startsWith('command:'))
  // The quick command, then /stop, then what had waited before it.
  assert.deepEqual(
    replies.slice(0, 3).map(({ key }) => Number(key.split(':')[1])),
    [1, 10, 2],
  )
})

test('a quick command passes the command policy', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({
      wipe: { type: 'exec', command: 'rm -rf /' },
      clean: { type: 'exec', command: 'rm -rf build', everybody: true },
    }),
  })
  assert.match(await runCommand(gateway, '/wipe', ada), /never runs/)
  assert.match(await runCommand(gateway, '/clean', bob), /owner/)
  assert.match(await runCommand(gateway, '/clean', ada), /Done/)
  await gateway.waitForLog({ event: 'quick_command.refused', command: 'wipe' })
})

test('/stop ends a quick command at once', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({ wait: { type: 'exec', command: 'echo yes > started; sleep 25' } }),
  })
  const started = join(gateway.home.root, 'started')
  execFileSync('mkfifo', [started])
  await gateway.say('/wait', ada)
  // Resolves when the command writes to the pipe.
  assert.equal(await readFile(started, 'utf8'), 'yes\n')
  await gateway.say('/stop', ada)
  await gateway.waitForReply('was stopped', 'ada-dm')
  await gateway.waitForReply('not working on an answer', 'ada-dm')
})

test('/stop in the same batch as a quick command ends it, too, and the next one runs', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({ wait: { type: 'exec', command: 'sleep 25' }, hello: { type: 'exec', command: 'echo hi' } }),
  })
  await Promise.all(['/wait', '/stop', '/hello'].map((text) => gateway.say(text, ada)))
  await gateway.waitForReply('was stopped', 'ada-dm')
  await gateway.waitForReply('hi', 'ada-dm')
})

test('an alias stands for a command with its arguments; built-in commands win, and a loop explains itself', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({
      taxes: { type: 'alias', target: '/new Taxes' },
      t: { type: 'alias', target: 'taxes of' },
      new: { type: 'alias', target: '/help' },
      a: { type: 'alias', target: '/b' },
      b: { type: 'alias', target: '/a' },
      lost: { type: 'alias', target: '/nowhere' },
    }),
  })
  assert.match(await runCommand(gateway, '/t 2026', ada), /New conversation: Taxes of 2026$/)
  assert.match(await runCommand(gateway, '/new', ada), /New conversation/)
  assert.match(await runCommand(gateway, '/a', ada), /itself/)
  assert.match(await runCommand(gateway, '/lost', ada), /does not exist/)
  const listed = await runCommand(gateway, '/help', ada)
  assert.match(listed, /`\/taxes/)
  assert.equal(listed.match(/`\/new/g)?.length, 1)
})

test('an alias of /queue keeps its own words', async (t) => {
  const gateway = await startTestGateway(t, {
    config: config({ data: { type: 'alias', target: '/queue use the test data' } }),
  })
  await gateway.say('/data', ada)
  await gateway.waitForReply('You said: use the test data', 'ada-dm')
  await gateway.say('/data – of May', ada)
  await gateway.waitForReply('You said: use the test data – of May', 'ada-dm')
})

test('an alias needs the permission for the command that it stands for', async (t) => {
  const gateway = await startTestGateway(t, { config: config({ report: { type: 'alias', target: '/debug' } }) })
  assert.match(await runCommand(gateway, '/report', bob), /owners/)
  assert.match(await runCommand(gateway, '/report', ada), /hermes doctor/)
})

/** Config files are reread when they change. */
async function changeConfig(gateway: TestGateway, change: Readonly<Record<string, unknown>>): Promise<void> {
  gateway.configure(change)
  gateway.current().config.reload()
}

test('quick commands change with the configuration, without a restart', async (t) => {
  const gateway = await startTestGateway(t, { config: config({}) })
  await gateway.say('/later', ada)
  await gateway.waitForReply('Unknown command', 'ada-dm')
  await changeConfig(gateway, config({ later: { type: 'exec', command: 'echo now it is there' } }))
  assert.match(await runCommand(gateway, '/later', ada), /now it is there/)
  assert.deepEqual(gateway.model.requests.map(conversation), [])
})

test('the page and the terminal get all commands of the gateway, and run them', async (t) => {
  const gateway = await startTestGateway(t, { config: config({ disk: { type: 'exec', command: 'echo 7 GB free' } }) })
  const listed: unknown = await (await gateway.http('/web/commands')).json()
  assert.ok(Array.isArray(listed))
  const names = listed.map((entry) => at(entry, 'name'))
  for (const name of ['new', 'resume', 'undo', 'reasoning', 'disk']) assert.ok(names.includes(name), name)
  await gateway.post('/web/messages', { chat: 'main', id: 'message-1', text: '/disk' })
  await gateway.waitForLog({ event: 'quick_command.ended', command: 'disk', exitCode: 0 })
})

test('a command gets a variable of .env that is named, and no credential of the gateway', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { env_passthrough: ['MY_SERVICE', 'OTHER', 'OPENROUTER_API_KEY'] } },
    prepare: (home) =>
      writeFileSync(home.envFile, 'MY_SERVICE=from-the-file\nOPENROUTER_API_KEY=sk-or-1\nUNNAMED=unnamed-1\n', {
        mode: 0o600,
      }),
    gateway: { environment: { PATH: process.env['PATH'], OTHER: 'of-the-process' } },
    replies: [terminalCall('env > seen'), { text: 'done' }],
  })
  await gateway.say('look')
  await gateway.waitForReply('done')
  const seen = readFileSync(join(gateway.home.root, 'seen'), 'utf8')
  assert.match(seen, /^MY_SERVICE=from-the-file$/m)
  assert.match(seen, /^OTHER=of-the-process$/m)
  assert.doesNotMatch(seen, /OPENROUTER|UNNAMED/)
})
