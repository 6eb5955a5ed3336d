/**
 * `hermes hooks` reads the directories without a daemon, and uses the API of a running daemon.
 */

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withoutPython } from '../hosts/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { assertFailed, homeWith, runInProcess } from './support.ts'

const path = process.env['PATH'] ?? ''

function put(folder: string, manifest: string, handler: string, name = 'handler.js'): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'HOOK.yaml'), manifest)
  writeFileSync(join(folder, name), handler)
}

test('a new hook from the template works unchanged, is listed, and can be tested without a daemon', async (t) => {
  const { root, hooks } = homeWith(t)
  const environment = { PATH: path }
  const made = await runInProcess(root, ['hooks', 'new', 'my-hook'])
  assert.deepEqual([made.code, made.stderr], [0, ''])
  assert.ok(made.stdout.includes('hermes hooks test my-hook'), 'the next command')
  assert.equal((await runInProcess(root, ['hooks', 'new', 'my-hook'])).code, 2)
  assert.equal((await runInProcess(root, ['hooks', 'new', '../evil'])).code, 2)
  assert.ok(existsSync(join(hooks, 'my-hook', 'handler.ts')))

  const listed = await runInProcess(root, ['hooks', 'list'])
  assert.match(listed.stdout, /^my-hook {2}ready {2}agent:end {2}typescript {2}0 {2}0 /m)
  const tried = await runInProcess(root, ['hooks', 'test', 'my-hook'], { environment })
  assert.deepEqual([tried.code, tried.stderr], [0, ''])
  assert.match(tried.stdout, /^agent:end: 12 characters for 1001\n✓ my-hook .*agent:end .*[\d.]+ ms/)
  const info = await runInProcess(root, ['hooks', 'info', 'my-hook'])
  assert.match(info.stdout, /^About {2}\S/m)
})

test('the Python template works unchanged', { skip: withoutPython }, async (t) => {
  const { root } = homeWith(t)
  await runInProcess(root, ['hooks', 'new', 'mine', '--python'])
  const { stdout } = await runInProcess(root, ['hooks', 'test', 'mine', '--json'], { environment: { PATH: path } })
  assert.equal(JSON.parse(stdout).ok, true)
})

test('hooks test shows the result, or the error with its location; the event and its context can be set', async (t) => {
  const { root, hooks } = homeWith(t)
  put(
    join(hooks, 'judge'),
    'events: [command:*]\n',
    `export const handle = (event, context) => { if (context.args === 'bad') throw new Error('broken'); return { event, args: context.args } }`,
  )
  const file = join(root, 'context.json')
  writeFileSync(file, '{"args":"good"}')
  const environment = { PATH: path }
  const good = await runInProcess(root, ['hooks', 'test', 'judge', '--event', 'command:new', '--context', file], {
    environment,
  })
  assert.ok(good.stdout.includes('{"event":"command:new","args":"good"}'), good.stdout)
  writeFileSync(file, '{"args":"bad"}')
  const bad = await runInProcess(root, ['hooks', 'test', 'judge', '--event', 'command:new', '--context', file], {
    environment,
  })
  assert.equal(bad.code, 1)
  assert.match(bad.stdout, /✗ judge .*command:new.* broken/)
  assert.match(bad.stdout, /handler\.js:1/)
  assert.equal((await runInProcess(root, ['hooks', 'test', 'judge', '--event', 'nonsense'])).code, 2)
  assert.equal((await runInProcess(root, ['hooks', 'test', 'judge', '--context', '/nowhere'])).code, 2)
  const unknown = await runInProcess(root, ['hooks', 'test', 'jugde'])
  assertFailed(unknown, 'cli/not-found', 'jugde', 'judge')
})

test('hooks test without an event sends one to which the hook subscribes, and shows the output of the handler', async (t) => {
  const { root, hooks } = homeWith(t)
  const handler = `export const handle = (event) => { console.log('received ' + event); console.error('and more') }`
  const environment = { PATH: path }
  for (const [family, event] of Object.entries({
    'command:*': 'command:status',
    'session:*': 'session:start',
    'approval:*': 'approval:requested',
  })) {
    const name = family.slice(0, -2)
    put(join(hooks, name), `events: ${JSON.stringify(family)}\n`, handler)
    const { stdout } = await runInProcess(root, ['hooks', 'test', name], { environment })
    const lines = stdout.split('\n')
    assert.deepEqual(lines.slice(0, 2).toSorted(), ['and more', `received ${event}`])
    assert.match(lines[2] ?? '', new RegExp(`✓ ${name} .*${event} .*ms`))
  }
})

test('hooks test shows no value of .env, whatever its name, in a result, an output or an error', async (t) => {
  const { root, hooks, envFile } = homeWith(t)
  writeFileSync(envFile, 'COLOUR=blue-elephant-4711\n', { mode: 0o600 })
  const code = (end: string) =>
    `export const handle = () => { const colour = 'blue-elephant-4711'; console.log(colour); ${end} }`
  put(join(hooks, 'returns'), 'events: [agent:end]\n', code('return { [colour]: [colour] }'))
  put(join(hooks, 'throws'), 'events: [agent:end]\n', code('throw new Error(colour)'))
  for (const name of ['returns', 'throws']) {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await runInProcess(root, ['hooks', 'test', name, ...more])
      assert.match(stdout, /\[redacted\]/)
      assert.doesNotMatch(stdout + stderr, /elephant/, `${name} ${more.join()}`)
    }
  }
})

test('a hook that cannot run is neither tested nor paused, and the reason is shown', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { hooks: { 'agent:end': [{ command: '/bin/true' }] } },
    prepare: (home) => put(join(home.hooks, 'broken'), 'events: []\n', 'export const handle = () => undefined'),
  })
  const { root } = gateway.home
  for (const [word, name, expected] of [
    ['pause', 'broken', /broken.HOOK\.yaml:1:9/],
    ['test', 'broken', /broken.HOOK\.yaml:1:9/],
    ['resume', 'agent:end/true', /hermes hooks accept agent:end\/true/],
  ] as const) {
    assertFailed(await runInProcess(root, ['hooks', word, name]), 'cli/failed', expected)
  }
})

test('a hook that is paused without a daemon stays paused when a daemon starts', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const { root, hooks } = gateway.home
  const output = join(root, 'output')
  put(
    join(hooks, 'writer'),
    'events: [agent:end]\n',
    `import { appendFileSync } from 'node:fs'\nexport const handle = (e, { message }) => appendFileSync(${JSON.stringify(output)}, message)`,
  )
  assert.equal((await runInProcess(root, ['hooks', 'pause', 'writer'])).code, 0)
  assert.match((await runInProcess(root, ['hooks', 'list'])).stdout, /^writer {2}paused/m)
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  assert.match((await runInProcess(root, ['hooks', 'list'])).stdout, /^writer {2}paused/m)
  assert.equal((await runInProcess(root, ['hooks', 'resume', 'writer'])).code, 0)
  await gateway.say('two')
  await gateway.waitForReply('You said: two')
  const tried = await runInProcess(root, ['hooks', 'test', 'writer'])
  assert.match(tried.stdout, /✓ writer .*agent:end/)
  await gateway.stop()
  assert.match(readFileSync(output, 'utf8'), /^(two.*|.*two)$/)
  assert.ok(!readFileSync(output, 'utf8').includes('one'))
})

test('the daemon reports the activity of its hooks without secrets', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: (home) => {
      appendFileSync(home.envFile, 'MY_TOKEN=super-secret-value-0123\n', { mode: 0o600 })
      put(
        join(home.hooks, 'leaky'),
        'events: [agent:start]\n',
        'export const handle = () => { throw new Error(process.env.MY_TOKEN) }',
      )
    },
  })
  await gateway.say('hello')
  await gateway.waitForLog('hook.handler_failed')
  const { stdout } = await runInProcess(gateway.home.root, ['hooks', 'list', '--json'])
  const [leaky] = JSON.parse(stdout).filter((hook: { name: string }) => hook.name === 'leaky')
  assert.deepEqual([leaky.fired, leaky.failed, leaky.state], [1, 1, 'ready'])
  assert.doesNotMatch(stdout, /super-secret-value/)
  const doctor = await runInProcess(gateway.home.root, ['hooks', 'test', 'leaky'])
  assert.doesNotMatch(doctor.stdout, /super-secret-value/)
})

test('a value of .env with five characters appears neither in the log nor in the list of hooks', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: (home) => {
      appendFileSync(home.envFile, 'SHORT_KEY=ab1de\n', { mode: 0o600 })
      put(
        join(home.hooks, 'leaky'),
        'events: [agent:start]\n',
        `export const handle = (event, context, { log }) => {
          console.log('printed ab1de'); log.info('logged', { value: 'ab1de' }); throw new Error('thrown: ab1de')
        }`,
      )
    },
  })
  await gateway.say('hello')
  await gateway.waitForLog('hook.handler_failed')
  const { stdout } = await runInProcess(gateway.home.root, ['hooks', 'list'])
  assert.match(stdout, /thrown: \[redacted\]/)
  assert.match(gateway.log.join(''), /printed \[redacted\]/)
  assert.doesNotMatch(gateway.log.join('') + stdout, /ab1de/)
})

test('a value of .env in a hook of the configuration or in an error is not printed without a daemon', async (t) => {
  const hooks = { 'agent:end': [{ type: 'command', command: '/opt/ab1de --now' }] }
  const { root, envFile } = homeWith(t, JSON.stringify({ hooks }))
  appendFileSync(envFile, 'SHORT_KEY=ab1de\n', { mode: 0o600 })
  for (const words of [
    ['hooks', 'list'],
    ['hooks', 'list', '--json'],
    ['hooks', 'info', 'ab1de'],
  ]) {
    const { stdout, stderr } = await runInProcess(root, words)
    assert.match(stdout + stderr, /\[redacted\]/, words.join(' '))
    assert.doesNotMatch(stdout + stderr, /ab1de/, words.join(' '))
  }
})

test('hermes status shows failing hooks with the reason until they are resumed', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: (home) => {
      put(join(home.hooks, 'good'), 'events: [agent:end]\n', 'export const handle = () => undefined')
      put(join(home.hooks, 'off'), 'events: [agent:end]\nenabled: false\n', 'export const handle = () => undefined')
      put(join(home.hooks, 'bad'), 'events: [agent:start]\n', 'export const handle = () => { throw new Error("no") }')
      put(join(home.hooks, 'broken'), 'events: []\n', 'export const handle = () => undefined')
    },
  })
  const { root } = gateway.home
  for (const text of ['one', 'two', 'three']) {
    await gateway.say(text)
    await gateway.waitForReply(`You said: ${text}`)
  }
  await gateway.waitForLog('hook.tripped')
  const before = await runInProcess(root, ['status'])
  assert.match(before.stdout, /^Hooks {2}bad tripped: /m)
  assert.match(before.stdout, /^Hooks {2}broken invalid: .*HOOK\.yaml:1:9/m)
  assert.doesNotMatch(before.stdout, /^Hooks {2}(?:good|off|boot-md)/m)
  const states = JSON.parse((await runInProcess(root, ['status', '--json'])).stdout).hooks
  assert.deepEqual(
    states.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`),
    ['bad tripped', 'broken invalid'],
  )
  await runInProcess(root, ['hooks', 'resume', 'bad'])
  await runInProcess(root, ['hooks', 'pause', 'good'])
  const after = await runInProcess(root, ['status'])
  assert.doesNotMatch(after.stdout, /^Hooks {2}bad/m)
  assert.match(after.stdout, /^Hooks {2}good paused: /m)
})

test('invalid requests about hooks are refused', async (t) => {
  const gateway = await startTestGateway(t)
  for (const [where, body, status] of [
    ['pause', '{"name":"missing"}', 404],
    ['pause', '{}', 400],
    ['test', '{"name":"missing","event":"agent:end"}', 404],
    ['test', '{"name":"x","event":"nonsense"}', 400],
    ['test', 'no JSON', 400],
  ] as const) {
    assert.equal((await gateway.post(`/api/hooks/${where}`, body)).status, status, body)
  }
})

test('doctor reports hooks that cannot be used, and a missing Python', async (t) => {
  const { root, hooks } = homeWith(t, 'http: {port: 0}\nhooks: {python: /nowhere/python3}\n')
  put(join(hooks, 'broken'), 'events: []\n', '')
  put(join(hooks, 'odd'), 'events: [agent:ends]\n', 'def handle(event_type, context):\n    pass\n', 'handler.py')
  const { stdout } = await runInProcess(root, ['doctor', '--offline', '--json'], { environment: { PATH: path } })
  const texts = JSON.parse(stdout)
    .findings.filter(({ subject }: { subject: string }) => subject === 'Hooks')
    .map(({ text }: { text: string }) => text)
  assert.match(texts[0], /broken.HOOK\.yaml:1:9: events: /)
  assert.match(texts[1], /"agent:ends".* agent:end\b/)
  assert.match(texts[2], /\/nowhere\/python3.*ENOENT/)
})

test('a program in config.yaml runs once it is accepted, and no longer after it is revoked', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      hooks: {
        'command:version': [{ command: 'sh -c \'echo "{\\"decision\\":\\"handled\\",\\"message\\":\\"mine\\"}"\'' }],
      },
    },
  })
  const { root } = gateway.home
  const name = 'command:version/sh'
  assert.match((await runInProcess(root, ['hooks', 'list'])).stdout, /^command:version\/sh {2}not-accepted/m)
  assert.match((await runInProcess(root, ['hooks', 'accept', name])).stdout, /^command:version .*sh -c/)
  await gateway.say('/version')
  await gateway.waitForReply('mine')
  assert.equal((await runInProcess(root, ['hooks', 'revoke', name])).code, 0)
  await gateway.say('/version')
  await gateway.waitForReply('0.0.0-test')
})

test('an error in a program entry of config.yaml is reported with its line', async (t) => {
  const { root } = homeWith(t, 'hooks:\n  agent:end:\n    - command: echo "hello\n      timeout: 10\n')
  const { code, stdout } = await runInProcess(root, ['config', 'check'])
  assert.equal(code, 78)
  assert.match(stdout, /config\.yaml:3:\d+ .*command: /)
})
