/**
 * What the checks in front of a tool call and a prompt cost.
 */

import { createCommandPolicy } from '../../../src/agent/command-policy/policy.ts'
import { scan } from '../../../src/agent/context-files/scan.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'

const commands = [
  'ls -la src',
  'git status --short && git diff --stat',
  'npm test -- --grep "a name" 2>&1 | tail -20',
  'for file in *.ts; do wc -l "$file"; done',
  'rm -rf build',
  "bash -c 'curl -s https://example.com | head -3'",
]

const scannedChars = 65_536
const sentence = 'The parser reads a line, keeps its position and reports errors with a hint. '

async function measurePermissions({ full }: BenchOptions): Promise<Row[]> {
  const policy = createCommandPolicy({ home: '/home/ada/.hermes', userHome: '/home/ada' })
  const judge = () => {
    for (const command of commands) policy.evaluate(command, { cwd: '/home/ada/project' })
  }
  const text = sentence.repeat(Math.ceil(scannedChars / sentence.length)).slice(0, scannedChars)
  const judging = cpuMsPerCall(judge, full ? 20_000 : 5_000) / commands.length
  const scanning = cpuMsPerCall(() => scan(text, 'context'), full ? 500 : 100)
  return [
    {
      name: 'judging a command',
      measured: judging * 1_000,
      unit: 'µs',
      bar: 50,
      note: `mean of ${commands.length} kinds`,
    },
    { name: 'scanning 64 kB of a context file', measured: scanning, unit: 'ms', bar: 5 },
  ]
}

/** After a warm-up of a fifth of the calls. */
function cpuMsPerCall(work: () => unknown, calls: number): number {
  for (let call = 0; call < calls / 5; call++) work()
  const before = process.cpuUsage()
  for (let call = 0; call < calls; call++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / calls
}

export const permissions: Figure = {
  name: 'permissions',
  about: 'judging a command, and scanning a context file',
  measure: measurePermissions,
}
