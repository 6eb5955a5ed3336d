import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sshdSkip } from '../kit/servers/sshd.ts'
import { homeWith, runInProcess } from './support.ts'

const places = [
  {
    name: 'a container without an engine',
    terminal: { backend: 'docker', docker_binary: '/nowhere/docker' },
    code: 'environment/no-client',
    skip: false,
  },
  {
    name: 'a host that does not answer',
    terminal: { backend: 'ssh', ssh_host: '127.0.0.1', ssh_port: 1, ssh_user: 'bot' },
    code: 'environment/unreachable',
    skip: sshdSkip(),
  },
  { name: 'a host that is not named', terminal: { backend: 'ssh' }, code: 'environment/ssh-settings', skip: false },
] as const

for (const { name, terminal, code, skip } of places)
  test(`doctor and config check name ${name} as the place of commands`, { skip }, async (t) => {
    const home = homeWith(t, `http: {port: 0}\nterminal: ${JSON.stringify(terminal)}\n`)
    const { findings } = JSON.parse((await runInProcess(home.root, ['doctor', '--json'])).stdout)
    const found = findings.find(({ subject }: { subject: string }) => subject === 'Commands')
    assert.deepEqual([found.state, found.code], ['problem', code])
    assert.notEqual(found.advice, '')
    const check = await runInProcess(home.root, ['config', 'check'])
    assert.ok(check.stdout.includes(code), check.stdout)
  })
