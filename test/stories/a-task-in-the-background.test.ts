/**
 * Hooks start background tasks: the gateway runs them, resumes them after a stop and delivers their replies.
 */

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { HomeLayout } from '../../src/lib/home.ts'
import { withoutPython } from '../hosts/support.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { at, conversation, hasResult, rowsIn, terminalCall, waitForCommandReply } from './support.ts'

interface TaskTestOptions extends TestGatewayOptions {
  readonly events?: string
  /** JavaScript code of the hook, which may call `start(prompt, options)`. */
  readonly body: string
}

/** Starts a gateway with a home channel and a hook. The results of `start` are logged. */
function withHook(
  t: TestContext,
  { events = '[gateway:startup]', body, ...options }: TaskTestOptions,
): Promise<TestGateway> {
  return startTestGateway(t, {
    config: { platforms: { fake: { home_channel: 'home' } } },
    prepare: (home) => hook(home, events, body),
    ...options,
  })
}

function hook(home: HomeLayout, events: string, body: string): void {
  const folder = join(home.hooks, 'starter')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'HOOK.yaml'), `events: ${events}\n`)
  writeFileSync(
    join(folder, 'handler.js'),
    `export async function handle(event, context, { gateway, log }) {
       const start = (...args) => gateway.startAgent(...args).then(
         (task) => log.info('began ' + task),
         (error) => log.info('rejected: ' + error.message),
       )
       ${body}
     }\n`,
  )
}

const taskOf = (line: string) => /bg_\d{6}_[0-9a-f]{8}/.exec(line)?.[0] ?? assert.fail(`no task id in ${line}`)

function transcripts(home: HomeLayout): string[] {
  const rows = rowsIn(
    home,
    `select role, content from messages join sessions on sessions.id = session_id
    where platform = 'background' order by messages.id`,
  )
  return rows.map(({ role, content }) => `${role}: ${content}`)
}

test('a hook receives the id of its task at once, and the reply goes to the home channel', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await withHook(t, {
    body: `await start('look after it')`,
    model: () => ({ text: 'looked after it', gate: () => gate.promise }),
  })
  const id = taskOf(await gateway.waitForLog('began bg_'))
  const { body } = await gateway.modelRequest(0)
  assert.match(String(at(body, 'messages', 0, 'content')), /background/)
  const status: unknown = await (await gateway.http('/api/status')).json()
  assert.equal(at(status, 'background', 0, 'id'), id)
  assert.equal(at(status, 'background', 0, 'by'), 'hook starter')
  await gateway.say('/status')
  await gateway.waitForReply(id, 'chat')
  gate.resolve()
  await gateway.waitForReply('looked after it', 'home')
  assert.match(await gateway.waitForLog({ event: 'task.ended' }), /looked after it/)
  assert.deepEqual(gateway.current().status().background, [])
})

test('each task has its own session without messages of chats', async (t) => {
  const gateway = await withHook(t, {
    events: '[message:received]',
    body: `await start('/new task after ' + context.message)`,
    model: ({ lastUserText }) => ({ text: `answer to ${lastUserText}` }),
  })
  await gateway.say('one', { chat: 'home' })
  await gateway.waitForReply('answer to /new task after one', 'home')
  await gateway.say('two', { chat: 'home' })
  await gateway.waitForReply('answer to /new task after two', 'home')
  await gateway.waitForReply(/^answer to two$/, 'home')
  const requests = await Promise.all([0, 1, 2, 3].map((number) => gateway.modelRequest(number)))
  const tasks = requests.map(conversation).filter((lines) => lines.some((line) => line.includes('task after')))
  assert.deepEqual(tasks.sort(), [['user: /new task after one'], ['user: /new task after two']])
})

test('a task can stay silent, and its session keeps the reply', async (t) => {
  const gateway = await withHook(t, {
    body: `await start('one'); await start('two'); await start('three')`,
    model(request) {
      if (request.lastUserText === 'one') return { text: ' [silent] ' }
      if (request.lastUserText === 'three') return { text: 'Nothing new, so: [SILENT]' }
      return hasResult(request) ? { text: 'NO_REPLY' } : { text: 'I look first.', ...terminalCall('true') }
    },
  })
  await gateway.waitForReply('Nothing new, so: [SILENT]', 'home')
  await gateway.waitForLog({ event: 'task.ended', msg: /silent/ })
  await gateway.waitForLog({ event: 'task.ended', msg: /NO_REPLY/ })
  await gateway.stop()
  assert.deepEqual(gateway.replies(), ['Nothing new, so: [SILENT]'])
  assert.ok(transcripts(gateway.home).includes('assistant:  [silent] '))
  assert.ok(transcripts(gateway.home).includes('assistant: NO_REPLY'))
})

test('only the final reply of a task is delivered', async (t) => {
  const gateway = await withHook(t, {
    body: `await start('check the disk')`,
    model: (request) =>
      hasResult(request) ? { text: 'The disk is full.' } : { text: 'I look first.', ...terminalCall('true') },
  })
  await gateway.waitForReply('The disk is full.', 'home')
  assert.deepEqual(gateway.replies(), ['The disk is full.'])
})

test('[SILENT] as a reply to a user is delivered', async (t) => {
  const gateway = await startTestGateway(t, { model: () => ({ text: '[SILENT]' }) })
  await gateway.say('hello')
  await gateway.waitForReply('[SILENT]', 'chat')
})

test('a failed task is reported with its id', async (t) => {
  const error = { status: 401, body: { error: { message: 'no such key' } } }
  const gateway = await withHook(t, { body: `await start('look after it')`, model: () => ({ error }) })
  const { text } = await gateway.waitForReply(/bg_\d{6}_[0-9a-f]{8}/, 'home')
  assert.match(text, /hook starter/)
  assert.match(text, /provider\/auth/)
})

test('a task with an empty reply is reported', async (t) => {
  const gateway = await withHook(t, {
    config: { platforms: { fake: { home_channel: 'home' } }, agent: { retry_window: 0.1 } },
    body: `await start('look after it')`,
    model: () => ({ text: '' }),
  })
  const { text, kind } = await gateway.waitForReply(/bg_\d{6}_[0-9a-f]{8}/, 'home')
  assert.match(text, /hook starter/)
  assert.equal(kind, 'notice')
})

test('the hook selects the target of the reply', async (t) => {
  const gateway = await withHook(t, {
    body: `for (const deliver of ['fake:ops', 'FAKE:ops:7', 'fake', 'home', 'origin'])
             await start('to ' + deliver, { deliver })`,
  })
  await gateway.waitForReply('to fake:ops', 'ops')
  const { thread } = await gateway.waitForReply('to FAKE:ops:7', 'ops')
  assert.equal(thread, '7')
  await gateway.waitForReply(/to fake$/, 'home')
  await gateway.waitForReply('to home', 'home')
  await gateway.waitForReply('to origin', 'home')
})

test('a reply without a target stays in the session of its task, and its beginning is logged', async (t) => {
  const gateway = await withHook(t, {
    config: {},
    body: `await start('no home', {}); await start('local', { deliver: 'local' })`,
    model: ({ lastUserText }) => ({ text: `answer to ${lastUserText} ${'x'.repeat(300)}` }),
  })
  const line = await gateway.waitForLog({ event: 'task.ended', msg: /answer to no home/ })
  await gateway.waitForLog({ event: 'task.ended', msg: /answer to local/ })
  assert.ok(line.includes('x'.repeat(180)) && !line.includes('x'.repeat(200)))
  await gateway.stop()
  assert.deepEqual(gateway.replies(), [])
  assert.equal(transcripts(gateway.home).filter((text) => text.startsWith('assistant: answer to')).length, 2)
})

test('`local` delivers nothing, also with a home channel', async (t) => {
  const gateway = await withHook(t, {
    body: `await start('stays here', { deliver: 'local' }); await start('goes home')`,
    model: ({ lastUserText }) => ({ text: `answer to ${lastUserText}` }),
  })
  await gateway.waitForLog({ event: 'task.ended', msg: /answer to stays here/ })
  await gateway.waitForReply('answer to goes home', 'home')
  await gateway.stop()
  assert.deepEqual(gateway.replies('home'), ['answer to goes home'])
})

test('an unknown target is rejected before the task starts', async (t) => {
  const gateway = await withHook(t, { body: `await start('look after it', { deliver: 'pigeon:7' })` })
  assert.match(await gateway.waitForLog('rejected: '), /pigeon/)
  assert.deepEqual(rowsIn(gateway.home, 'select * from inbox'), [])
})

test('a task has its own iteration limit, at most the configured one', async (t) => {
  const gateway = await withHook(t, {
    config: { max_iterations: 3, platforms: { fake: { home_channel: 'home' } } },
    body: `await start('two', { maxIterations: 2, deliver: 'fake:two' })
           await start('many', { maxIterations: 20, deliver: 'fake:many' })`,
    model: ({ lastUserText }) =>
      lastUserText.startsWith('The budget') ? { text: 'That is all.' } : terminalCall('true'),
  })
  await gateway.waitForReply('That is all.', 'two')
  await gateway.waitForReply('That is all.', 'many')
  await gateway.stop()
  const answers = rowsIn(
    gateway.home,
    `select count(*) as answers from messages where role = 'assistant' group by session_id`,
  )
  assert.deepEqual(answers.map((row) => row['answers']).sort(), [3, 4])
})

test('a hook is not called for events of its own tasks', async (t) => {
  const gateway = await withHook(t, {
    events: '["session:*", "agent:*", "message:*"]',
    body: `if (event === 'agent:end' || event === 'message:sent') await start('after ' + event)`,
    model: ({ lastUserText }) => ({ text: `answer to ${lastUserText}` }),
  })
  await gateway.say('hello')
  await gateway.waitForReply('answer to after agent:end', 'home')
  await gateway.waitForReply('answer to after message:sent', 'home')
  await gateway.stop()
  assert.equal(rowsIn(gateway.home, `select * from sessions where platform = 'background'`).length, 2)
  const received = gateway.events.filter(({ context }) => JSON.stringify(context).includes('answer to after'))
  assert.deepEqual(received, [])
})

test('a task that is interrupted by a stop resumes at the next start and is delivered once', async (t) => {
  let asked = 0
  const gateway = await withHook(t, {
    body: `if (context.platforms.length > 0) await start('look after it')`,
    model: (): ModelReply => (asked++ === 0 ? { hang: 'headers' } : { text: 'looked after it' }),
  })
  const id = taskOf(await gateway.waitForLog('began bg_'))
  await gateway.modelRequest(0)
  await gateway.stop(AbortSignal.abort())
  hook(gateway.home, '[gateway:startup]', '')
  await gateway.start()
  await gateway.waitForReply('looked after it', 'home')
  assert.equal(taskOf(await gateway.waitForLog({ event: 'task.ended' })), id)
  await gateway.stop()
  assert.deepEqual(gateway.replies(), ['looked after it'])
})

test('/stop in the home channel does not stop the task', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await withHook(t, {
    body: `await start('look after it')`,
    model: () => ({ text: 'looked after it', gate: () => gate.promise }),
  })
  await gateway.modelRequest(0)
  await gateway.say('/stop', { chat: 'home' })
  await waitForCommandReply(gateway, '', 'home')
  gate.resolve()
  await gateway.waitForReply('looked after it', 'home')
})

test('a hook in Python starts the agent', { skip: withoutPython }, async (t) => {
  const gateway = await withHook(t, {
    body: '',
    prepare(home) {
      const folder = join(home.hooks, 'snake')
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      writeFileSync(join(folder, 'HOOK.yaml'), 'events: gateway:startup\n')
      writeFileSync(
        join(folder, 'handler.py'),
        'async def handle(event_type, context, services):\n' +
          '    task = await services.gateway.start_agent("look after it", max_iterations=5, deliver="fake:ops")\n' +
          '    services.log.info("began " + task)\n',
      )
    },
    model: () => ({ text: 'looked after it' }),
  })
  taskOf(await gateway.waitForLog('began bg_'))
  await gateway.waitForReply('looked after it', 'ops')
})
