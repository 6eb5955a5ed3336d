/**
 * The bundled hook boot-md: the agent works through BOOT.md at every start.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, terminalCall } from './support.ts'

function withBoot(t: TestContext, checklist: string | undefined, model: (asked: string) => ModelReply) {
  return startTestGateway(t, {
    config: { platforms: { fake: { home_channel: 'home' } } },
    model: ({ lastUserText }) => model(lastUserText),
    prepare(home) {
      if (checklist !== undefined) writeFileSync(home.bootFile, checklist)
    },
  })
}

/** The pids of the processes that run hooks. */
async function hookProcesses(gateway: TestGateway): Promise<unknown[]> {
  const report: unknown = await (await gateway.http('/api/hooks')).json()
  const all = at(report, 'processes')
  return Array.isArray(all) ? all.map((one) => at(one, 'pid')).filter((pid) => pid !== undefined) : []
}

test('the agent works through BOOT.md, and its reply goes to the home channel', async (t) => {
  const gateway = await withBoot(t, '# Checklist\n1. Look at the disk\n', () => ({ text: 'The disk is full.' }))
  await gateway.waitForReply('The disk is full.', 'home')
  const [asked = ''] = conversation(await gateway.modelRequest(0))
  assert.match(asked, /^user: The gateway has just started; connected are .*fake/)
  assert.match(asked, /\n# Checklist\n1\. Look at the disk\n--- end of BOOT\.md ---\n/)
  await gateway.waitForLog({ event: 'task.ended', msg: /The disk is full\./ })
  assert.deepEqual(rowsIn(gateway.home, 'select platform, user_id from sessions'), [
    { __proto__: null, platform: 'background', user_id: 'hook:boot-md' },
  ])
})

test('BOOT.md runs once at every start', async (t) => {
  let starts = 0
  const gateway = await withBoot(t, 'Say hello.', () => ({ text: `start ${++starts}` }))
  await gateway.waitForReply('start 1', 'home')
  await gateway.stop()
  await gateway.start()
  await gateway.waitForReply('start 2', 'home')
  await gateway.stop()
  assert.deepEqual(gateway.replies(), ['start 1', 'start 2'])
})

test('a silent reply to BOOT.md is not sent', async (t) => {
  const gateway = await withBoot(t, 'Look at the disk.', () => ({ text: '[SILENT]' }))
  await gateway.waitForLog({ event: 'task.ended', msg: /\[SILENT\]/ })
  await gateway.stop()
  assert.deepEqual(gateway.replies(), [])
})

test('BOOT.md is limited to twenty iterations', async (t) => {
  let calls = 0
  const gateway = await withBoot(t, 'Never stop.', (asked) =>
    asked.startsWith('The budget') ? { text: 'That is all.' } : terminalCall(`echo ${calls++}`),
  )
  await gateway.waitForReply('That is all.', 'home')
  const answers = rowsIn(gateway.home, `select * from messages where role = 'assistant'`)
  assert.equal(answers.length, 21)
})

test('without BOOT.md no process is started; a file written later runs at the next start', async (t) => {
  const gateway = await withBoot(t, undefined, () => ({ text: 'hello' }))
  await gateway.waitForEvent('gateway:startup')
  await gateway.say('hi')
  await gateway.waitForReply('hello', 'chat')
  assert.deepEqual(await hookProcesses(gateway), [])
  writeFileSync(gateway.home.bootFile, 'Say hello.')
  await gateway.stop()
  await gateway.start()
  await gateway.waitForReply('hello', 'home')
})

test('an empty BOOT.md starts no task', async (t) => {
  const gateway = await withBoot(t, ' \n\n', () => ({ text: 'hello' }))
  const tried = await gateway.post('/api/hooks/test', { name: 'boot-md', event: 'gateway:startup' })
  assert.equal(at(await tried.json(), 'ok'), true)
  assert.deepEqual(rowsIn(gateway.home, 'select * from inbox'), [])
  assert.notDeepEqual(await hookProcesses(gateway), [])
})

/** The checklist of Hermes' page on event hooks, as it stands there. */
const documented = `# Startup Checklist

1. Check if any cron jobs failed overnight — run \`hermes cron list\`
2. Send a message to Discord #general saying "Gateway restarted, all systems go"
3. Check if /opt/app/deploy.log has any errors from the last 24 hours
`

for (const sandbox of ['off', 'auto', 'landlock'] as const) {
  test(`the documented checklist finds a failed job with hermes cron list, with terminal.sandbox ${sandbox}`, {
    skip: sandbox !== 'off' && (await sandboxSkip(sandbox === 'auto' ? 'bwrap' : sandbox)),
  }, async (t) => {
    const schedule = { kind: 'cron', expr: '0 3 * * *', display: '0 3 * * *' }
    const job = { id: 'backup', name: 'Nightly backup', prompt: 'Back up', schedule, last_status: 'error' }
    const calls: ModelReply[] = [
      terminalCall('hermes cron list'),
      {
        toolCalls: [
          { name: 'send_message', arguments: { target: 'fake:general', message: 'Gateway restarted, all systems go' } },
        ],
      },
      terminalCall('cat /opt/app/deploy.log'),
      { text: 'The job "Nightly backup" failed.' },
    ]
    const gateway = await startTestGateway(t, {
      config: { platforms: { fake: { home_channel: 'home' } }, terminal: { sandbox } },
      replies: calls,
      prepare(home) {
        writeFileSync(home.bootFile, documented)
        mkdirSync(home.cron, { recursive: true })
        writeFileSync(join(home.cron, 'jobs.json'), JSON.stringify({ jobs: [job] }))
      },
    })
    await gateway.waitForReply('The job "Nightly backup" failed.', 'home')
    await gateway.waitForReply('Gateway restarted, all systems go', 'general')
    assert.ok((await gateway.modelRequest(0)).lastUserText.includes(documented.trim()))
    const asked = conversation(await gateway.modelRequest(1)).join('\n')
    assert.match(asked, /backup +Nightly backup · 0 3 \* \* \* · next [^·]* · last error · to local/)
    assert.match(asked, /"exit_code":0/)
  })
}
