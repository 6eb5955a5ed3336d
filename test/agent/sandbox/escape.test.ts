import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { CommandPolicy } from '../../../src/agent/command-policy/policy.ts'
import { createProcessTable } from '../../../src/agent/environments/session-resources.ts'
import { createToolRegistry } from '../../../src/agent/tools/registry.ts'
import type { ToolContext } from '../../../src/agent/tools/tool.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { testToolContext } from '../in-memory-deps.ts'
import { canary, createVictim, sandboxSkip, searchPath, type Victim } from './victim.ts'

const skip = await sandboxSkip()

/** The sandbox must hold whatever the policy lets through. */
const permissive: CommandPolicy = { evaluate: () => ({ decision: 'allow' }) }

/** Calls the real tools as the agent loop does. */
function toolsOf(victim: Victim) {
  const { environment, fileGuard } = victim
  const registry = createToolRegistry({
    log: silentLog,
    services: {
      log: silentLog,
      commandPolicy: permissive,
      fileGuard,
      searchPath,
      maxChildren: 1,
      scripts: { timeoutMs: 60_000, maxCalls: 50 },
      terminal: { timeoutMs: 20_000, maxTimeoutMs: 20_000, maxOutputBytes: 1_000_000 },
    },
  })
  const processes = createProcessTable({ now: Date.now })
  return async (name: string, args: Readonly<Record<string, unknown>>): Promise<string> => {
    const parsed = (await registry.load()).parse(name, JSON.stringify(args))
    assert.ok(parsed.ok, JSON.stringify(parsed))
    const base = testToolContext({ id: 'call', name, arguments: '' }, new AbortController().signal)
    const context: ToolContext = {
      ...base,
      environment,
      session: { ...base.session, processes },
      limits: { maxResultChars: 100_000 },
    }
    return parsed.call.run(context)
  }
}

describe('through its tools the agent cannot', { skip }, () => {
  test('write what the gateway loads, by shell, file tool, link or background child', async () => {
    await using victim = await createVictim()
    const { home, userHome, cwd } = victim
    const call = toolsOf(victim)
    const before = victim.fingerprint()
    symlinkSync(join(home, 'plugins'), join(cwd, 'linked'))
    symlinkSync(home, join(cwd, 'up'))
    const targets = ['plugins/evil/index.js', 'hooks/evil/handler.js', 'platforms/evil/index.js', 'config.yaml', '.env']
    const paths = [
      ...targets.flatMap((name) => [join(home, name), join(cwd, 'up', name), `/tmp/../${home}/${name}`]),
      ...['linked/evil/index.js', '../plugins/evil/index.js', '~/.bashrc', '~/.config/systemd/user/evil.service'],
      ...['~/.ssh/authorized_keys', '~/.gitconfig', '~/.local/bin/tool', '/etc/cron.d/evil', '/proc/self/mem'],
    ]
    for (const path of paths) {
      const written = await call('write_file', { path, content: 'evil' })
      assert.match(written, /"error"/, path)
      await call('patch', { path, old_string: '#', new_string: 'evil' })
    }
    const command = paths.map((path) => `mkdir -p "$(dirname ${path})"; echo evil > ${path}`).join('\n')
    await call('terminal', { command })
    await call('terminal', { command, background: true })
    await call('process', { action: 'wait', id: 'proc_1', timeout: 10 })
    assert.equal(victim.fingerprint(), before)
    await victim.environment.cleanup()
    assert.equal(victim.fingerprint(), before, userHome)
  })

  test('read a secret with a file tool', async () => {
    await using victim = await createVictim()
    const { home, userHome, cwd } = victim
    const call = toolsOf(victim)
    symlinkSync(userHome, join(cwd, 'up'))
    mkdirSync(join(cwd, 'd'))
    symlinkSync(join(home, '.env'), join(cwd, 'd/env'))
    const paths = ['.env', 'gateway.token', 'state.db', 'media/1-1-aa.png', 'logs/gateway.log', 'profiles/work/.env']
    for (const path of [
      ...paths.map((name) => join(home, name)),
      ...['up/.hermes/.env', 'd/env', '~/.ssh/id_ed25519', 'up/.aws/credentials', '../.env'],
      ...[`/proc/${process.pid}/environ`, '/proc/self/environ', `/proc/${process.pid}/root${home}/.env`],
    ]) {
      const read = await call('read_file', { path })
      assert.match(read, /"error"/, path)
      assert.ok(!read.includes(canary), path)
    }
    for (const path of ['~', 'up', home, '.', `/proc/self/root${home}`])
      for (const target of ['content', 'files']) {
        const found = await call('search_files', { pattern: target === 'files' ? '*' : 'SECRET', target, path })
        assert.ok(!found.includes(canary) && !/id_ed25519|gateway\.token/.test(found), `${path}: ${found}`)
      }
  })

  test('speak for the owner with the command of the gateway', async () => {
    await using victim = await createVictim()
    const call = toolsOf(victim)
    const before = victim.fingerprint()
    const commands = [
      'hooks accept',
      'plugins enable evil',
      'web url',
      'config set approvals.mode off',
      'sessions search bank',
    ]
    for (const name of commands) {
      const result = await call('terminal', {
        command: `hermes ${name}; node ${import.meta.dirname}/../../../src/main.mjs ${name}`,
      })
      assert.ok(!result.includes(canary), result)
    }
    assert.equal(victim.fingerprint(), before)
  })

  test('see, trace or signal the gateway', async () => {
    await using victim = await createVictim()
    const { userHome } = victim
    const call = toolsOf(victim)
    let signals = 0
    const count = () => {
      signals += 1
    }
    process.on('SIGUSR2', count)
    const pid = process.pid
    const result = await call('terminal', {
      command: `kill -USR2 ${pid} -${pid}; for s in /proc/[0-9]*; do tr '\\0' '\\n' < $s/environ; done; cat /proc/${pid}/environ; crontab -l; systemctl --user start evil; ls -A /run; echo ${userHome}`,
    })
    process.off('SIGUSR2', count)
    assert.equal(signals, 0)
    assert.doesNotMatch(result, /NODE_TEST_CONTEXT/)
  })
})
