/**
 * Which calls of `terminal` and `process` need a user, and that they do not run without one.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Environment, ExecuteOptions } from '../../../src/agent/environments/environment.ts'
import type { ApprovalNeed, ToolContext } from '../../../src/agent/tools/tool.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
before(async () => {
  bench = await createWorkbench()
})
after(() => bench[Symbol.asyncDispose]())

async function needOf(
  name: string,
  args: Readonly<Record<string, unknown>>,
  more: Partial<ToolContext> = {},
): Promise<ApprovalNeed | undefined> {
  const parsed = (await bench.registry.load()).parse(name, JSON.stringify(args))
  assert.ok(parsed.ok)
  return await parsed.call.approval?.({ ...bench.context, ...more })
}

test('a command outside the sandbox is always a question to an owner, which no answer covers for later', async () => {
  for (const command of ['ls', 'rm -r build', 'docker restart web']) {
    const need = await needOf('terminal', { command, outside_sandbox: true })
    assert.deepEqual(
      [need?.ruleKey, need?.ownerOnly, need?.remember, need?.shape],
      ['outside-sandbox', true, 'call', undefined],
    )
    assert.match(need?.place ?? '', /outside the sandbox/)
  }
  assert.equal(await needOf('terminal', { command: 'ls' }), undefined)
  assert.equal(await needOf('terminal', { command: 'rm -rf /', outside_sandbox: true }), undefined, 'it never runs')
})

test('a command leaves the sandbox only with the yes of a person, and a forbidden one never does', async () => {
  const seen: (true | undefined)[] = []
  const environment: Environment = {
    ...bench.context.environment,
    async execute(_command: string, { outsideSandbox }: ExecuteOptions) {
      seen.push(outsideSandbox)
      return { output: '', exitCode: 0, timedOut: false, aborted: false }
    },
  }
  const outside = { command: 'ls', outside_sandbox: true }
  assert.equal((await bench.run('terminal', outside, { environment }))['rule'], 'outside-sandbox')
  assert.equal((await bench.run('terminal', outside, { environment, isApproved: true }))['exit_code'], 0)
  assert.equal((await bench.run('terminal', { command: 'ls' }, { environment, isApproved: true }))['exit_code'], 0)
  const forbidden = { command: 'rm -rf /', outside_sandbox: true }
  assert.equal((await bench.run('terminal', forbidden, { environment, isApproved: true }))['code'], 'command_refused')
  assert.deepEqual(seen, [true, undefined])
})

test('the place of a question says whether the command runs inside the sandbox', async () => {
  const placeIn = async (isSandboxed: boolean) => {
    const environment = { ...bench.context.environment, isSandboxed: async () => isSandboxed }
    return (await needOf('terminal', { command: 'rm -r build' }, { environment }))?.place
  }
  assert.match((await placeIn(true)) ?? '', /inside the sandbox/)
  assert.match((await placeIn(false)) ?? '', /without a sandbox/)
})

test('input that needs approval is asked about, and does not reach the command without it', async () => {
  const { id } = await bench.run('terminal', { command: 'head -n 2', background: true })
  const write = { action: 'write', id, data: 'rm -r build\n' }
  const need = await needOf('process', write)
  assert.deepEqual([need?.ruleKey, need?.remember, need?.command], ['remove-recursive', 'session', 'rm -r build\n'])
  assert.equal((await bench.run('process', write))['rule'], 'remove-recursive')
  assert.equal(await needOf('process', { action: 'write', id, data: 'hello\n' }), undefined)
  assert.equal(await needOf('process', { action: 'log', id }), undefined)
  await bench.run('process', { action: 'write', id, data: 'hello\n' })
  await bench.run('process', write, { isApproved: true })
  const { output } = await bench.run('process', { action: 'wait', id })
  assert.equal(output, 'hello\nrm -r build\n')
})

test('all input of a command outside the sandbox is asked about', async () => {
  const args = { command: 'cat', background: true, outside_sandbox: true }
  assert.equal((await bench.run('terminal', args))['rule'], 'outside-sandbox')
  const { id } = await bench.run('terminal', args, { isApproved: true })
  const write = { action: 'write', id, data: 'hello\n' }
  const need = await needOf('process', write)
  assert.deepEqual([need?.ownerOnly, need?.remember], [true, 'call'])
  assert.equal((await bench.run('process', write))['code'], 'command_refused')
  await bench.run('process', { action: 'kill', id })
})

test('a command whose text may mean something else next time is not remembered for ever', async () => {
  for (const command of ['rm -r [ab]', 'rm -r a?', 'rm -r $DIR', 'rm -r a*', 'rm -r `ls`']) {
    const need = await needOf('terminal', { command })
    assert.equal(need?.shape, undefined, command)
    assert.notEqual(need?.remember, 'always', command)
  }
})
