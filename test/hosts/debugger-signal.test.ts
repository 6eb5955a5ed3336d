/**
 * SIGUSR1 makes Node listen for a debugger on a port of loopback, and every user of the machine could run code through it.
 * test/cli/kit/signals.test.ts has the test for the daemon.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { filesOf, textOf } from '../docs/repository.ts'
import { createTestHost, expectValue } from './support.ts'

const masksSchema = z.record(z.string(), z.string())

test('SIGUSR1 opens no debugger in a process of hooks', { skip: process.platform !== 'linux' }, async (t) => {
  const file = `import { readFileSync } from 'node:fs'
    export const handle = () => Object.fromEntries(
      readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(/:\\s+/)))`
  const { host } = createTestHost(t, { files: { 'good.mjs': file } })
  const masks = masksSchema.parse(
    expectValue(await host.call({ module: 'good', function: 'handle', args: [], deadlineMs: 20_000 })),
  )
  const has = (mask: string) => (BigInt(`0x${masks[mask]}`) & (1n << 9n)) !== 0n
  assert.deepEqual([has('SigCgt'), has('SigBlk') || has('SigIgn')], [false, true])
})

test('every other Node that the gateway starts opens no debugger either', () => {
  // The sources of src/packages run while the gateway is installed.
  const sources = filesOf('src').filter((path) => /\.m?[jt]s$/.test(path) && !path.startsWith('src/packages/'))
  const starts = sources.flatMap((path) =>
    [
      ...textOf(path).matchAll(/\b(?:spawn|spawnSync|execFile|execFileSync|fork)\(\s*process\.execPath,\s*(.{0,60})/gs),
    ].map(([, first = '']) => ({ path, first })),
  )
  assert.ok(starts.length >= 3)
  for (const { path, first } of starts) assert.match(first, /^\[\s*'--disable-sigusr1'/, path)
})
