/**
 * Asks the registry for advisories about the packages that are shipped (`npm run advisories`). Exit code 1 for one of high or critical
 * severity. CONTRIBUTING.md says what to do then.
 */
import { spawnSync } from 'node:child_process'
import { judgeReport } from './judge.ts'

const args = ['audit', '--omit', 'dev', '--json', '--fetch-retries', '1', '--fetch-timeout', '20000']
const { stdout } = spawnSync('npm', args, { encoding: 'utf8', timeout: 60_000, stdio: ['ignore', 'pipe', 'ignore'] })
const { kind, lines } = judgeReport(stdout ?? '')
for (const line of lines) process.stdout.write(`${line}\n`)
if (kind === 'passed') process.stdout.write('No advisory of high or critical severity.\n')
process.exitCode = kind === 'refused' ? 1 : 0
