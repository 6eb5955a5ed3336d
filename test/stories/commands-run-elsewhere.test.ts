/**
 * A whole gateway whose commands run in another place: of a plugin, and on a host that ssh reaches.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findProgram } from '../../src/lib/find-program.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { asArray, isRecord } from '../../src/sdk.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { sshdSkip, startSshd } from '../kit/servers/sshd.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { hasResult, terminalCall, waitForQuestion } from './support.ts'

const pluginSource = `
import { execFile } from 'node:child_process'
export function register(ctx) {
  ctx.registerEnvironment('shed', (request) => ({
    kind: 'shed',
    cwd: '/',
    execute(command, { signal }) {
      request.announce?.('The shed is being built.')
      return new Promise((resolve) =>
        execFile('sh', ['-c', command], { signal, env: request.variables }, (error, stdout, stderr) =>
          resolve({ output: stdout + stderr, exitCode: error === null ? 0 : 1, timedOut: false, aborted: false })))
    },
    cleanup: async () => undefined,
  }))
}
`

function addShed({ plugins }: Pick<HomeLayout, 'plugins'>): void {
  mkdirSync(join(plugins, 'shed'), { recursive: true, mode: 0o700 })
  writeFileSync(join(plugins, 'shed', 'plugin.yaml'), 'name: shed\nversion: 1.0.0\n')
  writeFileSync(join(plugins, 'shed', 'index.ts'), pluginSource)
}

/** The result of the last tool call that a request contains. */
function resultIn({ body }: RecordedRequest): string {
  const last = asArray(body['messages']).at(-1)
  return isRecord(last) ? String(last['content']) : ''
}

test('a person is told once what the first command waits for', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { terminal: { backend: 'shed' }, plugins: { enabled: ['shed'] } },
    prepare: addShed,
    model: (request) => (hasResult(request) ? { text: resultIn(request) } : terminalCall('echo in the shed')),
  })
  await gateway.say('go')
  await gateway.until(({ text }) => text.includes('in the shed'))
  await gateway.until(({ text }) => text.includes('The shed is being built.'))
  assert.equal(gateway.replies().filter((text) => text.includes('is being built')).length, 1)
})

test('over ssh, a dangerous command asks first, and the file tools share the place', {
  skip: sshdSkip(),
}, async (t) => {
  const sshd = await startSshd()
  t.after(() => sshd[Symbol.asyncDispose]())
  const folder = join(sshd.directory, 'work')
  mkdirSync(join(folder, 'old'), { recursive: true })
  const calls = [
    { name: 'write_file', arguments: { path: 'note', content: 'over ssh' } },
    { name: 'terminal', arguments: { command: 'cat note; rm -rf old; echo "$SSH_CONNECTION"' } },
  ]
  const gateway = await startTestGateway(t, {
    config: {
      terminal: {
        ...{ backend: 'ssh', ssh_host: '127.0.0.1', ssh_port: sshd.port, ssh_user: sshd.user, ssh_key: sshd.key },
        ...{ ssh_known_hosts: sshd.knownHosts, ssh_cwd: folder },
      },
    },
    capabilities: ['buttons'],
    model({ body }) {
      const done = asArray(body['messages']).filter((one) => isRecord(one) && one['role'] === 'tool').length
      const next = calls[done]
      return next === undefined ? { text: 'done' } : { toolCalls: [next] }
    },
  })
  await gateway.say('clean up')
  const question = await waitForQuestion(gateway)
  assert.ok(question.text.includes('rm -rf old'))
  assert.ok(existsSync(join(folder, 'old')))
  await gateway.say('/approve')
  await gateway.waitForReply('done')
  assert.equal(existsSync(join(folder, 'old')), false)
  const result = resultIn(await gateway.modelRequest(2))
  assert.ok(result.includes('over ssh') && result.includes('127.0.0.1'), result)
})

const withoutSsh =
  findProgram('ssh', process.env['PATH'] ?? '') === undefined ? 'no ssh (apt-get install openssh-client)' : false

test('a host that cannot be reached is an error for the model, and no command runs on this machine', {
  skip: withoutSsh,
}, async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      terminal: { backend: 'ssh', ssh_host: '127.0.0.1', ssh_port: 1, ssh_user: 'bot', ssh_key: '/dev/null' },
    },
    model: (request) => (hasResult(request) ? { text: resultIn(request) } : terminalCall(`touch '${marker()}'`)),
  })
  const marker = () => join(gateway.home.root, 'ran-here')
  await gateway.say('go')
  await gateway.waitForReply('"code":"environment/unreachable"')
  assert.equal(existsSync(marker()), false)
  const status = await (await gateway.http('/api/status')).text()
  assert.ok(status.includes('environment/unreachable'), status)
})
