import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'
import { conversation, terminalCall } from './support.ts'

const skip = await sandboxSkip()
/** No machine has both kinds. */
const missingKind = process.platform === 'darwin' ? 'bwrap' : 'seatbelt'

test('a command works in the workspace, runs scripts of skills, and its hermes does not speak for the owner', {
  skip,
}, async (t) => {
  const skills = tempHome(t)
  mkdirSync(join(skills, 'tea', 'scripts'), { recursive: true })
  writeFileSync(join(skills, 'tea', 'scripts', 'boil.sh'), 'echo boiled $((50 + 50))')
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' }, skills: { external_dirs: [skills] } },
    replies: [
      terminalCall(
        `echo milk > list; hermes cron list; sh '${skills}/tea/scripts/boil.sh'; hermes config show; echo $?`,
      ),
      { toolCalls: [{ name: 'read_file', arguments: { path: '../config.yaml' } }] },
      { text: 'done' },
    ],
  })
  await gateway.say('make a list')
  await gateway.waitForReply('done')
  const lines = conversation(gateway.model.requests[2]).join('\n')
  assert.match(lines, /There are no scheduled jobs[\s\S]*boiled 100/)
  assert.equal(readFileSync(join(gateway.home.workspace, 'list'), 'utf8'), 'milk\n')
  assert.match(lines, /hermes config show is not available[\s\S]*77/)
  assert.doesNotMatch(lines, /gateway\.token|state\.db/)
  assert.match(lines, /"code":"hidden"/)
})

test('without a sandbox a guest cannot run a command, and the gateway says what is missing', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: missingKind } },
    replies: [terminalCall('echo x'), { text: 'done' }],
  })
  await gateway.say('run it')
  await gateway.waitForReply('done')
  assert.match(conversation(gateway.model.requests[1]).join('\n'), /"code":"sandbox_required"/)
  await gateway.waitForLog('sandbox.missing')
})

test('a sandbox that could not be opened is opened with the next command', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' } },
    replies: [terminalCall('echo one'), { text: 'first' }, terminalCall('echo two'), { text: 'second' }],
  })
  const inTheWay = join(gateway.home.cache, 'sandbox')
  rmSync(inTheWay, { recursive: true, force: true })
  mkdirSync(gateway.home.cache, { recursive: true })
  writeFileSync(inTheWay, '')
  await gateway.say('run it')
  await gateway.waitForReply('first')
  assert.match(conversation(gateway.model.requests[1]).join('\n'), /ENOTDIR/)
  rmSync(inTheWay)
  await gateway.say('run it again')
  await gateway.waitForReply('second')
  const last = conversation(gateway.model.requests[3]).at(-1) ?? ''
  assert.match(last, /exit_code|sandbox_required/)
})

test('commands, file tools and replies mean the same files by /tmp', { skip }, async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto' } },
    capabilities: ['files'],
    replies: [
      terminalCall('printf "a picture" > /tmp/chart.png; echo from-a-command > /tmp/notes'),
      {
        toolCalls: [
          { name: 'read_file', arguments: { path: '/tmp/notes' } },
          { name: 'search_files', arguments: { path: '/tmp', pattern: 'from-a-command' } },
          { name: 'write_file', arguments: { path: '/tmp/written', content: 'from-a-tool' } },
        ],
      },
      terminalCall('cat /tmp/written'),
      { text: 'Here it is.\n\nMEDIA:/tmp/chart.png' },
    ],
  })
  await gateway.say('draw')
  const { file } = await gateway.until((message) => message.file !== undefined)
  assert.deepEqual([file?.fileName, Buffer.from(file?.content ?? '').toString()], ['chart.png', 'a picture'])
  const lines = conversation(gateway.model.requests[3])
  assert.equal(lines.filter((line) => line.includes('from-a-command')).length, 2)
  assert.match(lines.join('\n'), /\/tmp\/notes:1:from-a-command/)
  assert.match(lines.at(-1) ?? '', /from-a-tool/)
})

test('without a sandbox the gateway is degraded before the first message, and an owner is told once', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: missingKind }, roles: { owners: ['fake:user'] } },
  })
  await gateway.waitForLog('sandbox.missing')
  assert.match(gateway.current().status().degraded.join(), /no sandbox/)
  await gateway.say('one')
  await gateway.waitForReply('one')
  await gateway.stop()
  await gateway.start()
  await gateway.waitForLogLine(2, 'sandbox.missing')
  await gateway.say('two')
  await gateway.waitForReply('two')
  assert.equal(gateway.replies().filter((text) => text.includes('bubblewrap')).length, 1)
})

test('with a list of hosts a command reaches them through the proxy of the gateway only', { skip }, async (t) => {
  const script = `require('http').get({ port: 3128, path: 'http://' + process.argv[2] + '/' }, (response) => {
    console.log(response.statusCode)
    response.pipe(process.stdout)
  })`
  const get = (host: string) => `'${process.execPath}' get.cjs ${host}`
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'auto', sandbox_network: ['localhost', '*.example.com'] } },
    prepare(home) {
      mkdirSync(home.workspace)
      writeFileSync(join(home.workspace, 'get.cjs'), script)
    },
    replies: [terminalCall(`${get('other.test')}; ${get('localhost')}; cat /proc/net/dev; env`), { text: 'done' }],
  })
  await gateway.say('fetch it')
  await gateway.waitForReply('done')
  const lines = conversation(gateway.model.requests[1]).join('\n')
  assert.match(lines, /403\\nother\.test is not in the list.*403\\nlocalhost does not lead to a public address/)
  assert.match(lines, /lo:/)
  assert.doesNotMatch(lines, /eth0:/)
  assert.match(lines, /https_proxy=http:\/\/127\.0\.0\.1:3128/)
  await gateway.waitForLog('sandbox.host_refused')
})

test('without a sandbox that can limit the network, not even an owner runs a command', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      terminal: { sandbox: missingKind, sandbox_network: ['example.com'] },
      roles: { owners: ['fake:user'] },
    },
    replies: [terminalCall('touch ran'), { text: 'done' }],
  })
  await gateway.say('run it')
  await gateway.waitForReply('done')
  assert.match(conversation(gateway.model.requests[1]).join('\n'), /"code":"sandbox_required"/)
})
