/**
 * The files of another environment, over its shell. Needed there: a POSIX shell, and the programs cat, wc, head, tail, mkdir, mv, rm,
 * chmod and readlink of coreutils or busybox.
 */
import { randomUUID } from 'node:crypto'
import { posix } from 'node:path'
import type { RemoteFileGuard } from '../../command-policy/file-guard.ts'
import type { ReadOptions } from '../../support/files.ts'
import type {
  DirectoryEntry,
  EnvironmentFiles,
  FileAccess,
  FileRefusal,
  FileRefusalCode,
  FileResult,
} from '../files.ts'
import { quotePath, resolveRemotePath } from './quote.ts'
import { searchRemotely } from './remote-search.ts'
import { createScriptRunner, type ScriptRequest, type StartRemote } from './script-runner.ts'

export interface RemoteFilesOptions {
  readonly cwd: string
  readonly graceMs: number
  readonly run: StartRemote
  /** See `RemoteEnvironmentOptions`. */
  readonly denial?: RemoteFileGuard | undefined
}

export function createRemoteFiles({ cwd, graceMs, run, denial }: RemoteFilesOptions): EnvironmentFiles {
  const runScript = createScriptRunner(run, graceMs)
  const resolve = (path: string) => resolveRemotePath(path, cwd)

  async function check(
    path: string,
    intent: 'read' | 'write',
    { signal }: FileAccess,
  ): Promise<FileRefusal | Permission> {
    const problem = problemOf(path)
    if (problem !== undefined) return problem
    if (denial === undefined) return { ok: true, mayRead: () => true }
    const reply = await runScript(realPathScript(resolve(path)), { signal })
    const [real = '', home = ''] = reply.toString('utf8').split('\0')
    const reason = denial(real, home, intent)
    const verb = intent === 'write' ? 'Writing' : 'Reading'
    if (reason !== undefined) return refuse('protected', `${verb} ${path} is not allowed: ${reason}.`)
    const mayRead = (name: string) => denial(posix.join(real, name), home, 'read') === undefined
    return { ok: true, mayRead }
  }

  /** Runs a script whose first line of output says whether it has done its work. */
  async function ask(path: string, script: string, request: ScriptRequest): Promise<FileRefusal | Reply> {
    const bytes = await runScript(`${preamble}\np=${quotePath(resolve(path))}\n${script}`, request)
    return parseReply(bytes, path)
  }

  return {
    resolve,
    async check(path, intent, access) {
      const allowed = await check(path, intent, access)
      return allowed.ok ? { ok: true } : allowed
    },

    async stat(path, access) {
      const allowed = await check(path, 'read', access)
      if (!allowed.ok) return allowed
      const reply = await ask(path, statScript, access)
      if (!reply.ok) return reply.code === 'not_found' ? { ok: true, stat: undefined } : reply
      const [kind = '', size, mode = ''] = reply.words
      const isKnown = kind === 'file' || kind === 'directory'
      return { ok: true, stat: { kind: isKnown ? kind : 'other', size: Number(size), mode: Number.parseInt(mode, 8) } }
    },

    async read(path, options) {
      const local = await readAttachment(path, options)
      if (local !== undefined) return local
      const allowed = await check(path, 'read', options)
      if (!allowed.ok) return allowed
      const reply = await ask(path, readScript(options), { signal: options.signal })
      if (!reply.ok) return reply
      const [verdict, size] = reply.words
      if (verdict !== 'too-large' || !('maxBytes' in options)) return { ok: true, bytes: reply.body }
      const limit = `${(Number(size) / 1_048_576).toFixed(1)} MB, more than ${options.maxBytes / 1_048_576} MB`
      return refuse('too_large', `${path} has ${limit}; use search_files, or sed and tail in the terminal.`)
    },

    async writeAtomic(path, content, access) {
      const allowed = await check(path, 'write', access)
      if (!allowed.ok) return allowed
      const script = writeScript(Buffer.byteLength(content), access.newMode)
      const reply = await ask(path, script, { signal: access.signal, input: content })
      return reply.ok ? { ok: true, created: reply.words[0] === 'created' } : reply
    },

    async remove(path, access) {
      const allowed = await check(path, 'write', access)
      if (!allowed.ok) return allowed
      const reply = await ask(path, removeScript, { signal: access.signal })
      return reply.ok ? { ok: true } : reply
    },

    async list(path, options) {
      const allowed = await check(path, 'read', options)
      if (!allowed.ok) return allowed
      const reply = await ask(path, listScript(options.limit + 1), { signal: options.signal })
      if (!reply.ok) return reply
      const entries = reply.body
        .toString('utf8')
        .split('\0')
        .slice(0, -1)
        .map(entryOf)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
      return { ok: true, entries: entries.slice(0, options.limit), isComplete: entries.length <= options.limit }
    },

    async search(request, access) {
      const allowed = await check(request.path, 'read', access)
      if (!allowed.ok) return allowed
      const { mayRead } = allowed
      return await searchRemotely(request, { signal: access.signal, root: resolve(request.path), mayRead, runScript })
    },
  }
}

/** Files of the conversation lie on the disk of the gateway. */
async function readAttachment(
  path: string,
  options: FileAccess & ReadOptions,
): Promise<FileResult<{ readonly bytes: Buffer }> | undefined> {
  if (!path.startsWith('/') || (await options.attachments?.())?.includes(path) !== true) return undefined
  const { readFileBytes } = await import('../../support/files.ts')
  return await readFileBytes(path, path, options)
}

interface Permission {
  readonly ok: true
  /** Whether a file below the path may be read as well. Takes its path from there. */
  mayRead(name: string): boolean
}

interface Reply {
  readonly ok: true
  /** The words of the first line after `ok`. */
  readonly words: readonly string[]
  /** What follows the first line. */
  readonly body: Buffer
}

const reasons: Readonly<Record<string, { readonly code: FileRefusalCode; readonly text: string }>> = {
  'not-found': { code: 'not_found', text: 'does not exist.' },
  directory: { code: 'is_directory', text: 'is a directory; search_files lists its files.' },
  special: { code: 'not_regular_file', text: 'is not a regular file.' },
  file: { code: 'not_regular_file', text: 'is a file, not a directory.' },
}

function parseReply(bytes: Buffer, path: string): FileRefusal | Reply {
  const end = bytes.indexOf(0x0a)
  const [verdict = '', ...words] = bytes.toString('utf8', 0, end === -1 ? bytes.length : end).split(' ')
  const body = end === -1 ? Buffer.alloc(0) : bytes.subarray(end + 1)
  if (verdict === 'ok') return { ok: true, words, body }
  const known = Object.hasOwn(reasons, verdict) ? reasons[verdict] : undefined
  if (known !== undefined) return refuse(known.code, `${path} ${known.text}`)
  const said = body.toString('utf8').trim().slice(0, 500)
  return refuse('failed', `${path}: ${said || 'the environment gave no reason'}`)
}

const refuse = (code: FileRefusalCode, reason: string): FileRefusal => ({ ok: false, code, reason })

function problemOf(path: string): FileRefusal | undefined {
  if (path.includes('\0')) return refuse('failed', 'A path has no NUL character.')
  return path.length > 4_000 ? refuse('failed', 'The path is too long.') : undefined
}

/** `fail` ends the script with a reason. `real` follows links of the last part of `$p`, also one that leads nowhere. */
const preamble = [
  'LC_ALL=C; export LC_ALL',
  'say() { printf "%s\\n" "$1"; exit 0; }',
  'fail() { printf "failed\\n%s\\n" "$1"; exit 0; }',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is text for a shell
  'real() { [ -L "$p" ] || return 0; r=$(readlink -f -- "$p" && echo .) || return 0; r=${r%.}; p=${r%?}; }',
].join('\n')

const missing = '[ -e "$p" ] || say not-found'

const statScript = `${missing}
k=other; [ -f "$p" ] && k=file; [ -d "$p" ] && k=directory
r=$(stat -L -c '%s %a' -- "$p" 2>/dev/null) || r=$(stat -L -f '%z %Lp' -- "$p" 2>&1) || fail "$r"
say "ok $k $r"`

function readScript(options: ReadOptions): string {
  const regular = `[ -d "$p" ] && say directory\n${missing}\n[ -f "$p" ] || say special\n[ -r "$p" ] || fail 'Permission denied'`
  if ('length' in options)
    return `${regular}\necho ok; tail -c +${options.offset + 1} -- "$p" 2>/dev/null | head -c ${options.length}; exit 0`
  return `${regular}
n=$(($(wc -c <"$p")))
[ "$n" -le ${options.maxBytes} ] || say "ok too-large $n"
echo "ok whole $n"
head -c ${options.maxBytes} -- "$p"`
}

/** Less input than announced means that the connection broke: then nothing is replaced. */
function writeScript(bytes: number, newMode: number | undefined): string {
  // The umask of the environment applies, as to any new file.
  const mode = newMode === undefined ? '' : `$(printf %o $((0${(newMode & 0o777).toString(8)} & ~0$(umask))))`
  return `real
[ -d "$p" ] && say directory
c=created; m=${mode}
if [ -e "$p" ]; then
  [ -f "$p" ] || say special
  c=replaced; m=$(stat -c %a -- "$p" 2>/dev/null || stat -f %Lp -- "$p" 2>/dev/null)
fi
d=\${p%/*}; d=\${d:-/}
e=$(mkdir -p -- "$d" 2>&1) || fail "$e"
t="$d/.hermes-${randomUUID()}.tmp"
trap 'rm -f -- "$t"' EXIT
trap 'exit 1' TERM HUP INT
e=$(cat 2>&1 >"$t") || fail "$e"
[ "$(($(wc -c <"$t")))" = ${bytes} ] || exit 1
[ -z "$m" ] || e=$(chmod "$m" "$t" 2>&1) || fail "$e"
e=$(mv -f -- "$t" "$p" 2>&1) || fail "$e"
say "ok $c"`
}

const removeScript = `real
[ -d "$p" ] && say directory
${missing}
e=$(rm -f -- "$p" 2>&1) || fail "$e"
say ok`

/** Prints at most `count` names that begin with a dot, and at most `count` others: the first ones of each. */
const listScript = (count: number) => `${missing}
LC_ALL=C
[ -d "$p" ] || say file
e=$(cd -- "$p" 2>&1) || fail "$e"
cd -- "$p"
echo ok
show() {
  case $f in .|..) return;; esac
  if [ -L "$f" ]; then k=l; elif [ -f "$f" ]; then k=f; elif [ -d "$f" ]; then k=d; elif [ -e "$f" ]; then k=o; else return; fi
  printf '%s%s\\000' "$k" "$f"
  n=$((n+1))
}
n=0; for f in *; do show; [ "$n" -lt ${count} ] || break; done
n=0; for f in .*; do show; [ "$n" -lt ${count} ] || break; done
exit 0`

function entryOf(text: string): DirectoryEntry {
  const kinds = { f: 'file', d: 'directory', l: 'link' } as const
  const [letter] = text
  const kind = letter === 'f' || letter === 'd' || letter === 'l' ? kinds[letter] : 'other'
  return { name: text.slice(1), kind }
}

/** The path without links, also of a file that is missing yet, and the home of the user. */
function realPathScript(path: string): string {
  return `p=${quotePath(path)}; rest=
while [ ! -e "$p" ] && [ ! -L "$p" ] && [ -n "$p" ]; do rest=/\${p##*/}$rest; p=\${p%/*}; done
r=$(readlink -f -- "\${p:-/}" && echo .) || r="$p
."
r=\${r%.}; r=\${r%?}; [ "$r" = / ] && r=
printf '%s%s\\000%s\\000' "$r" "$rest" "$(readlink -f -- "$HOME" || echo "$HOME")"`
}
