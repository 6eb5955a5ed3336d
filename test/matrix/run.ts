/**
 * `npm run test:matrix [-- options] [lanes]`: runs the tests on one machine as if it were several (`lanes.ts`), each time in
 * a fresh clone of the last commit. Prints a line for each lane, and exits with 1 if one is red.
 *
 *     --all        everything (`npm run test:all`) instead of `npm test`
 *     --keep       keeps the clones and their logs
 *
 * Changes that are not committed have no part in it.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findProgram, type Lane, lanes, missingPackages } from './lanes.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** A user of Debian who owns nothing. */
const unprivilegedId = 65_534

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
})
const unknown = positionals.filter((name) => !lanes.some((lane) => lane.name === name))
if (unknown.length > 0) {
  process.stderr.write(`There is no lane ${unknown.join(', ')}. Lanes: ${lanes.map(({ name }) => name).join(', ')}\n`)
  process.exit(2)
}
const isRoot = process.getuid?.() === 0
let failed = false
for (const lane of positionals.length === 0 ? lanes : lanes.filter(({ name }) => positionals.includes(name))) {
  if (lane.user !== undefined && !isRoot) {
    process.stdout.write(`- ${lane.name}: skipped, only root can change the user\n`)
    continue
  }
  for (let time = 1; time <= (lane.times ?? 1); time += 1) if (!(await runLane(lane, time))) failed = true
}
process.exitCode = failed ? 1 : 0

/** Resolves with whether the tests passed. Throws if the clone cannot be made. */
async function runLane(lane: Lane, time: number): Promise<boolean> {
  // Short, because sockets of programs under test lie below it, and the path of a socket has at most 103 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'hm-'))
  const clone = join(folder, 'clone')
  const home = join(folder, lane.folders ?? 'home')
  const temporary = join(home, lane.folders ?? 'tmp')
  // Links to the packages of this checkout: the same files, and no second copy.
  run('git', ['clone', '--quiet', root, clone])
  run('cp', ['-al', join(root, 'node_modules'), clone])
  mkdirSync(temporary, { recursive: true })
  const path = lane.onlyPrograms === undefined ? (process.env['PATH'] ?? '') : linkPrograms(folder, lane.onlyPrograms)
  // Tests of root start programs as other users.
  chmodSync(folder, 0o755)
  if (lane.user === 'unprivileged') {
    for (const owned of [clone, home, temporary]) giveTo(unprivilegedId, owned)
    // Private to the user of this checkout. The user of the lane fills one of its own.
    rmSync(join(clone, 'node_modules', '.hermes', 'compile'), { recursive: true, force: true })
  }
  const log = join(folder, 'log')
  const busy = Array.from({ length: lane.busyProcesses ?? 0 }, () => spawn(process.execPath, ['-e', 'for (;;) {}']))
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['test/runner/run.ts', ...(values.all ? ['--all'] : [])], {
    cwd: clone,
    ...(lane.user === 'unprivileged' ? { uid: unprivilegedId, gid: unprivilegedId } : {}),
    env: {
      ...process.env,
      ...lane.environment,
      PATH: path,
      HOME: home,
      TMPDIR: temporary,
      NODE_COMPILE_CACHE: join(temporary, 'compile-cache'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = createWriteStream(log)
  child.stdout.pipe(output, { end: false })
  child.stderr.pipe(output, { end: false })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  for (const process of busy) process.kill('SIGKILL')
  output.end()
  await finished(output)
  const text = readFileSync(log, 'utf8')
  const totals = text.trimEnd().split('\n').at(-1) ?? ''
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const missing = missingPackages(path)
  const without = missing.length === 0 ? '' : `; without ${missing.join(', ')}`
  const run_ = lane.times === undefined ? '' : ` ${time} of ${lane.times}`
  process.stdout.write(
    `${code === 0 ? '✓' : '✖'} ${lane.name}${run_} (${lane.purpose}): ${totals}, ${seconds} s${without}\n`,
  )
  if (code !== 0) process.stdout.write(`${text.slice(text.search(/^✖/m)).replace(/^/gm, '    ')}\n`)
  if (values.keep) process.stdout.write(`    ${folder}\n`)
  else rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  return code === 0
}

/** A folder with links to Node and to these programs, as a path. */
function linkPrograms(folder: string, names: readonly string[]): string {
  const path = join(folder, 'bin')
  mkdirSync(path)
  symlinkSync(process.execPath, join(path, 'node'))
  for (const name of names) {
    const file = findProgram(name)
    if (file === undefined) throw new Error(`The lane needs the program ${name}, which is not on the path.`)
    symlinkSync(file, join(path, name))
  }
  return path
}

/** Changes the owner of a folder and of everything in it but the packages, which are shared with this checkout. */
function giveTo(id: number, folder: string): void {
  chownSync(folder, id, id)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'node_modules') giveTo(id, path)
    else if (entry.isFile()) chownSync(path, id, id)
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}
