/**
 * Programs of the configuration that run on events of plugins (contract §2.7).
 */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeConsents } from '../../src/hooks/consent.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { conversation, terminalCall } from './support.ts'

const readInput = `let text = ''; process.stdin.on('data', (part) => { text += part }).on('end', () => decide(JSON.parse(text)))
const { appendFileSync } = require('node:fs')
const answer = (decision) => console.log(JSON.stringify(decision))
`

interface ProgramOptions extends TestGatewayOptions {
  readonly event: string
  /** Calls `answer(decision)` for the `input`. */
  readonly decide: string
  readonly hook?: Readonly<Record<string, unknown>>
  readonly isAccepted?: boolean
  /** Further entries of the event, before the program. */
  readonly others?: readonly unknown[]
}

/** A gateway with one program, and a model that runs `touch ran` in the terminal. */
async function withProgram(
  t: TestContext,
  { event, decide, hook, isAccepted = true, others = [], ...options }: ProgramOptions,
): Promise<TestGateway> {
  return await startTestGateway(t, {
    ...options,
    config: { hooks: { [event]: [...others, { command: './check.js', ...hook }] } },
    replies: options.replies ?? [terminalCall('touch ran'), { text: 'done' }],
    prepare({ root }) {
      const file = join(root, 'check.js')
      writeFileSync(file, `#!${process.execPath}\n${readInput}function decide(input) { ${decide} }\n`)
      chmodSync(file, 0o755)
      if (isAccepted) writeConsents(root, [{ event, command: './check.js' }])
    },
  })
}

const ran = ({ home }: TestGateway) => existsSync(join(home.root, 'ran'))
const toolResult = (request: RecordedRequest | undefined) => conversation(request).at(-1) ?? ''

async function runTool(gateway: TestGateway): Promise<string> {
  await gateway.say('touch it')
  await gateway.waitForReply('done')
  return toolResult(gateway.model.requests[1])
}

test('a program sees the call of a tool and blocks it, by JSON or by its exit code', async (t) => {
  const byJson = await withProgram(t, {
    event: 'pre_tool_call',
    hook: { matcher: 'terminal|process' },
    decide: `answer({ decision: 'block', reason: input.tool_name + ' ' + input.tool_input.command + ' is forbidden' })`,
  })
  assert.match(await runTool(byJson), /terminal touch ran is forbidden/)
  assert.equal(ran(byJson), false)
  const byExitCode = await withProgram(t, {
    event: 'pre_tool_call',
    decide: `process.stderr.write('not today'); process.exitCode = 2`,
  })
  assert.match(await runTool(byExitCode), /not today/)
  assert.equal(ran(byExitCode), false)
})

test('a program changes arguments, and one whose matcher names another tool is not run', async (t) => {
  const modified = await withProgram(t, {
    event: 'pre_tool_call',
    decide: `answer({ action: 'modify', args: { command: 'touch changed' } })`,
  })
  await runTool(modified)
  assert.deepEqual([ran(modified), existsSync(join(modified.home.root, 'changed'))], [false, true])
  const other = await withProgram(t, {
    event: 'pre_tool_call',
    hook: { matcher: 'write_file' },
    decide: 'process.exitCode = 2',
  })
  await runTool(other)
  assert.equal(ran(other), true)
})

test('a program that failed for several calls still checks the next one', async (t) => {
  const decide = `const { command } = input.tool_input
    if (command === 'touch bad') process.exitCode = 1
    else answer({ decision: 'block', reason: 'forbidden' })`
  for (const fail_closed of [false, true]) {
    const replies = [
      ...Array.from({ length: 4 }, () => terminalCall('touch bad')),
      terminalCall('touch ran'),
      { text: 'done' },
    ]
    const gateway = await withProgram(t, { event: 'pre_tool_call', decide, hook: { fail_closed }, replies })
    await gateway.say('touch them')
    await gateway.waitForReply('done')
    assert.equal(existsSync(join(gateway.home.root, 'bad')), !fail_closed)
    assert.equal(ran(gateway), false)
    assert.match(toolResult(gateway.model.requests[5]), /forbidden/)
  }
})

test('a tool does not run when a program that fails closed fails or was not accepted', async (t) => {
  for (const options of [
    { decide: 'process.exitCode = 1' },
    { decide: `console.log('no JSON')` },
    { decide: 'setInterval(() => undefined, 1000)', hook: { timeout: 0.3, fail_closed: true } },
    { decide: 'answer({})', isAccepted: false },
  ]) {
    const gateway = await withProgram(t, { event: 'pre_tool_call', hook: { fail_closed: true }, ...options })
    const result = await runTool(gateway)
    assert.equal(ran(gateway), false, options.decide)
    assert.match(result, /error/, options.decide)
    const open = await withProgram(t, {
      event: 'pre_tool_call',
      ...options,
      hook: { ...options.hook, fail_closed: false },
    })
    await runTool(open)
    assert.equal(ran(open), true, options.decide)
  }
})

test('no tool runs while an entry of pre_tool_call is invalid', async (t) => {
  for (const invalid of [
    { pre_tool_call: [{ command: './check.js' }, { fail_closed: true, matcher: 'write_file' }] },
    { pre_tool_call: [{ command: './check.js "' }] },
    { pre_tool_call: './check.js' },
  ]) {
    const gateway = await startTestGateway(t, {
      config: { hooks: invalid },
      replies: [terminalCall('touch ran'), { text: 'done' }],
    })
    await runTool(gateway)
    assert.equal(ran(gateway), false, JSON.stringify(invalid))
  }
})

test('a check with an invalid option still checks, and fails closed if it is unclear whether it should', async (t) => {
  for (const [hook, decide] of [
    [{ timeout: 'long' }, `answer({ decision: 'block', reason: 'forbidden' })`],
    [{ fail_closed: 'yes' }, 'process.exitCode = 1'],
  ] as const) {
    const gateway = await withProgram(t, { event: 'pre_tool_call', decide, hook })
    await runTool(gateway)
    assert.equal(ran(gateway), false, JSON.stringify(hook))
  }
})

test('an invalid entry does not turn off the other programs of its event', async (t) => {
  const gateway = await withProgram(t, {
    event: 'post_tool_call',
    decide: `appendFileSync('seen', input.tool_name)`,
    others: [{ timeout: 5 }],
  })
  await runTool(gateway)
  await gateway.stop()
  assert.equal(ran(gateway), true)
  assert.equal(readFileSync(join(gateway.home.root, 'seen'), 'utf8'), 'terminal')
})

test('programs add context to a turn and observe its events, and failures of observers change nothing', async (t) => {
  const context = await withProgram(t, { event: 'pre_llm_call', decide: `answer({ context: 'It is Monday.' })` })
  await context.say('hello')
  await context.waitForReply('done')
  assert.match(conversation(context.model.requests[0]).join('\n'), /It is Monday\./)
  const observer = await withProgram(t, {
    event: 'post_tool_call',
    decide: `appendFileSync('seen', input.hook_event_name + ' ' + input.tool_name + ' ' + input.extra.status); process.exitCode = 2`,
  })
  await runTool(observer)
  await observer.stop()
  assert.equal(ran(observer), true)
  assert.equal(readFileSync(join(observer.home.root, 'seen'), 'utf8'), 'post_tool_call terminal ok')
})

test('a gateway that is embedded in the terminal runs programs of plugin events', async (t) => {
  const gateway = await withProgram(t, {
    event: 'pre_tool_call',
    decide: `answer({ action: 'block', message: 'never' })`,
    gateway: { onlyPlatforms: ['fake'] },
  })
  assert.match(await runTool(gateway), /never/)
  assert.equal(ran(gateway), false)
})
