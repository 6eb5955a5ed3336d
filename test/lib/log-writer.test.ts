/**
 * The lines of the log, and its guarantees: no secret, no forged line, no failure of the process.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HermesError } from '../../src/lib/errors.ts'
import { type LogFields, type Logger, silentLog } from '../../src/lib/log.ts'
import { createLog, type Log, type LogOptions } from '../../src/lib/log-writer.ts'
import { createRedactor } from '../../src/lib/redact.ts'
import { tempHome } from '../kit/temp-home.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const at = Date.UTC(2026, 10, 20, 10, 11, 12, 345)

/** A device on which every write fails with ENOSPC. */
const fullDevice = '/dev/full'

function logging(options: Partial<LogOptions> = {}) {
  const lines: string[] = []
  // Most of these lines need no event.
  const log: Logger<LogFields> & Log = createLog({
    level: 'info',
    pretty: false,
    stream: { write: (text) => lines.push(text) },
    redactor: createRedactor({ secrets: () => ['open-sesame'] }),
    clock: () => at,
    ...options,
  })
  const records = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line))
  return { log, lines, records }
}

describe('a line', () => {
  it('is one JSON object with level, time, fields and message', () => {
    const { log, lines } = logging()
    log.info({ session: 'agent:main:web:dm:1', ms: 12, nothing: undefined }, 'turn done')
    assert.deepEqual(lines, [
      '{"level":"info","time":"2026-11-20T10:11:12.345Z","session":"agent:main:web:dm:1","ms":12,"msg":"turn done"}\n',
    ])
  })

  it('of a child logger has the fields of all its parents', () => {
    const { log, records } = logging()
    log.child({ platform: 'web' }).child({ session: 's' }).warn({ n: 1 }, 'slow')
    assert.deepEqual(records(), [
      { level: 'warn', time: '2026-11-20T10:11:12.345Z', platform: 'web', session: 's', n: 1, msg: 'slow' },
    ])
  })

  it('below the level is not written, and a changed level applies to children', () => {
    const { log, records } = logging({ level: 'warn' })
    const child = log.child({ c: 1 })
    child.info({}, 'hidden')
    log.debug({}, 'hidden')
    child.error({}, 'one')
    log.setLevel('debug')
    child.debug({}, 'two')
    assert.deepEqual(
      records().map(({ msg }) => msg),
      ['one', 'two'],
    )
  })

  it('keeps its level, time and message when a field has the same name', () => {
    const { log, records } = logging()
    log.warn({ level: 'debug', time: 0, msg: 'forged', err: 'x' }, 'real')
    assert.deepEqual(records(), [
      {
        level: 'warn',
        time: '2026-11-20T10:11:12.345Z',
        level_: 'debug',
        time_: 0,
        msg_: 'forged',
        err: 'x',
        msg: 'real',
      },
    ])
  })

  it('does not interpolate placeholders in its message', () => {
    const { log, records } = logging()
    log.info({ a: 1 }, '100 %s of %d %%')
    assert.equal(records()[0]?.['msg'], '100 %s of %d %%')
  })
})

describe('an error', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' })
  const error = new HermesError('provider/network', 'asked https://h.example', {
    cause: new Error('fetch failed', { cause }),
  })

  it('has its code, message, hint and causes', () => {
    const { log, records } = logging()
    log.error({ err: error }, 'the model call failed')
    assert.deepEqual(records()[0]?.['err'], {
      name: 'HermesError',
      code: 'provider/network',
      message: 'The model provider cannot be reached. asked https://h.example',
      hint: 'Check `base_url` and the network, then send the message again.',
      cause: { message: 'fetch failed', cause: { code: 'ECONNREFUSED', message: cause.message } },
    })
  })

  it('has its stack at level debug only', () => {
    const { log, lines } = logging()
    log.error({ err: error }, 'failed')
    log.setLevel('debug')
    log.error({ err: error }, 'failed')
    assert.ok(!lines[0]?.includes('"stack"'))
    assert.match(lines[1] ?? '', /"stack":"HermesError: [^"]*log-writer\.test\.ts/)
  })

  it('inside a list or an object is converted too', () => {
    const { log, records } = logging()
    log.warn(
      { tries: [new TypeError('one')], last: { error: new AggregateError([new Error('two')], 'both') } },
      'gave up',
    )
    assert.deepEqual(records()[0]?.['tries'], [{ name: 'TypeError', message: 'one' }])
    assert.deepEqual(records()[0]?.['last'], {
      error: { name: 'AggregateError', message: 'both', errors: [{ message: 'two' }] },
    })
  })
})

describe('an unusual value', () => {
  it('never makes logging throw', () => {
    const circle: Record<string, unknown> = { name: 'circle' }
    circle['self'] = circle
    const trap = Object.defineProperty({}, 'boom', {
      enumerable: true,
      get: () => {
        throw new Error('a getter that throws')
      },
    })
    const { log, records } = logging()
    log.info(
      {
        circle,
        trap,
        big: 12n,
        symbol: Symbol('s'),
        method: () => 1,
        nan: Number.NaN,
        date: new Date(0),
        map: new Map([['a', new Set([1])]]),
        bytes: Buffer.from('abc'),
        url: new URL('https://h.example/x'),
        many: Array.from({ length: 60 }, (_, index) => index),
        long: 'x'.repeat(9_000),
        deep: { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } },
      },
      'odd',
    )
    const [record] = records()
    assert.deepEqual(record?.['circle'], { name: 'circle', self: '[circular]' })
    assert.equal(record?.['trap'], '[unreadable]')
    assert.equal(record?.['big'], '12')
    assert.equal(record?.['nan'], 'NaN')
    assert.deepEqual(record?.['map'], { a: [1] })
    assert.equal(record?.['bytes'], '[3 bytes]')
    assert.equal(record?.['url'], 'https://h.example/x')
    assert.match(JSON.stringify(record?.['many']), /\b10 /)
    assert.match(String(record?.['long']), /x….*\b9000\b/)
    assert.match(JSON.stringify(record?.['deep']), /\[object\]/)
  })
})

describe('a secret', () => {
  it('is removed from every part of the line, and the line stays JSON', () => {
    const { log, lines, records } = logging()
    const error = new Error('open-sesame', { cause: new Error('GET /?token=hunter2hunter2') })
    log.error({ 'open-sesame': 1, deep: { list: ['open-sesame'] }, err: error }, 'said open-sesame')
    log.child({ password: 'hunter2' }).info({ url: new URL('https://u:hunter2@h/') }, 'x')
    assert.equal(records().length, 2)
    assert.ok(!/open-sesame|hunter2/.test(lines.join('')), lines.join(''))
  })

  it('that is a number does not corrupt the line', () => {
    const { log, records } = logging({ redactor: createRedactor({ secrets: () => ['20261120'] }) })
    log.info({ n: 20261120 }, 'number')
    assert.match(String(records()[0]?.['msg']), /"n":\[redacted\]/)
  })
})

describe('a line for a terminal', () => {
  it('has time, level, message and fields', () => {
    const { log, lines } = logging({ pretty: true, colour: false })
    log.warn({ platform: 'web', ms: 12, note: 'two words', list: [1] }, 'slow')
    assert.match(
      lines[0] ?? '',
      /^\[\d\d:\d\d:12\.345\] WARN: slow \{"platform":"web","ms":12,"note":"two words","list":\[1\]\}\n$/,
    )
  })

  it('has colours only on request', () => {
    const { log, lines } = logging({ pretty: true })
    log.error({}, 'bad')
    assert.ok(lines[0]?.includes('\u001b[31mERROR'))
  })

  it('is followed by the error with its code, hint, cause and stack, indented', () => {
    const { log, lines } = logging({ pretty: true, colour: false, level: 'debug' })
    const error = new HermesError('cli/failed', 'no luck', { hint: 'try again', cause: new Error('first\nsecond') })
    log.error({ err: error }, 'failed')
    const [head, ...rest] = (lines[0] ?? '').trimEnd().split('\n')
    assert.match(head ?? '', /ERROR: failed/)
    assert.ok(rest.every((line) => line.startsWith('    ')))
    for (const part of ['cli/failed', 'no luck', 'try again', 'second', 'log-writer.test.ts'])
      assert.ok(rest.join('\n').includes(part), part)
  })

  it('follows a count of lost lines on a line of its own', () => {
    let fails = true
    const written: string[] = []
    const write = (text: string) => {
      if (fails) throw new Error('gone')
      written.push(text)
    }
    const { log } = logging({ pretty: true, colour: false, stream: { write } })
    log.info({}, 'one')
    fails = false
    log.info({}, 'two')
    assert.match(written.join(''), /"lost":1.*\n.*two/)
  })

  // Controls, direction marks and line separators.
  const controls = /\p{Cc}|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/u
  const hostile = 'x\n10:00:00.000 error forged\r\u001b[2J\u001b]0;title\u0007\u009b31m\u202egnp.exe\u2028\u2066'
  for (const [format, options] of [
    ['formatted', { pretty: true, colour: false }],
    ['formatted with stacks', { pretty: true, colour: false, level: 'debug' }],
    ['JSON', { pretty: false }],
  ] as const) {
    it(`cannot be forged and sends no control character to the terminal (${format})`, () => {
      const { log, lines } = logging(options)
      const err = Object.assign(new Error(hostile, { cause: new Error(hostile) }), { code: hostile })
      log.info({ name: hostile, [hostile]: 1, deep: { a: [hostile], stack: hostile }, err }, hostile)
      assert.equal(lines.length, 1)
      const [head = '', ...rest] = (lines[0] ?? '').slice(0, -1).split('\n')
      assert.ok(
        rest.every((line) => line.startsWith('    ')),
        'only the first line begins at the margin',
      )
      for (const line of [head, ...rest]) assert.doesNotMatch(line, controls)
    })
  }
})

it('pino-pretty is loaded only for a terminal', async () => {
  const script = `
    const { createLog } = await import('./src/lib/log-writer.ts')
    const { createRequire } = await import('node:module')
    const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('pino-pretty'))
    for (const pretty of [false, true]) {
      createLog({ level: 'info', pretty, redactor: (text) => text, stream: { write: () => true } }).info({ event: 'test.line' }, 'x')
      console.log(isLoaded())
    }`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
  })
  assert.equal(stdout, 'false\ntrue\n')
})

describe('the file', () => {
  it('has JSON lines besides the terminal, and only the owner can read it', (t) => {
    const directory = join(tempHome(t), 'logs')
    const { log, lines } = logging({ pretty: true, file: { directory } })
    log.info({ a: 'open-sesame' }, 'hello')
    log.close()
    const path = join(directory, 'gateway.log')
    assert.equal(
      readFileSync(path, 'utf8'),
      '{"level":"info","time":"2026-11-20T10:11:12.345Z","a":"[redacted]","msg":"hello"}\n',
    )
    assert.equal(lines.length, 1)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(statSync(directory).mode & 0o777, 0o700)
  })

  it('is continued by the next process and rotated when it is full', (t) => {
    const directory = tempHome(t)
    for (let start = 0; start < 3; start++) {
      const { log } = logging({ file: { directory, maxBytes: 400, keep: 3 } })
      for (let line = 0; line < 4; line++) log.info({ start, line }, 'x'.repeat(50))
      log.close()
    }
    assert.deepEqual(readdirSync(directory).sort(), ['gateway.1.log', 'gateway.2.log', 'gateway.log'])
    const kept = ['gateway.2.log', 'gateway.1.log', 'gateway.log'].map((name) =>
      readFileSync(join(directory, name), 'utf8'),
    )
    for (const text of kept) assert.ok(text.length <= 400 && text.endsWith('\n'))
    const seen = kept
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(seen.at(-1), {
      level: 'info',
      time: '2026-11-20T10:11:12.345Z',
      start: 2,
      line: 3,
      msg: 'x'.repeat(50),
    })
    const order = seen.map(({ start, line }) => start * 4 + line)
    assert.deepEqual(
      order,
      order.toSorted((one, other) => one - other),
    )
  })

  it('that cannot be written fails nothing, and later reports the number of lost lines', (t) => {
    const home = tempHome(t)
    const directory = join(home, 'logs')
    writeFileSync(directory, 'a file instead of the directory')
    const { log, lines } = logging({ file: { directory } })
    log.info({}, 'one')
    log.info({}, 'two')
    rmSync(directory)
    log.info({}, 'three')
    log.close()
    const written = readFileSync(join(directory, 'gateway.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      written.map(({ event, msg, lost }) => [event ?? msg, lost]),
      [
        ['log.lines_lost', 2],
        ['three', undefined],
      ],
    )
    assert.equal(lines.length, 3, 'the terminal received all lines')
  })

  it('on a full disk drops lines and never throws', {
    skip: !existsSync(fullDevice) && 'no /dev/full on this system',
  }, (t) => {
    const directory = tempHome(t)
    const { log, lines } = logging({ file: { directory } })
    symlinkSync(fullDevice, join(directory, 'gateway.log'))
    for (let line = 0; line < 3; line++) log.info({}, 'lost')
    log.close()
    rmSync(join(directory, 'gateway.log'))
    log.info({}, 'kept')
    log.close()
    const [lost, kept] = readFileSync(join(directory, 'gateway.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(lost.lost, 3)
    assert.equal(kept.msg, 'kept')
    assert.equal(lines.length, 4)
  })
})

describe('a terminal that is closed', () => {
  it('does not end the process', () => {
    class Closing extends EventEmitter {
      open = true
      readonly written: string[] = []
      write(text: string) {
        if (!this.open) return this.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
        return this.written.push(text)
      }
    }
    const stream = new Closing()
    const { log } = logging({ stream })
    log.info({}, 'one')
    stream.open = false
    log.info({}, 'two')
    stream.open = true
    log.info({}, 'three')
    assert.equal(stream.written.length, 2)
    assert.match(stream.written[1] ?? '', /"lost":1.*\n.*three/)
  })

  it('or throws does not fail the caller', () => {
    const { log } = logging({
      stream: {
        write: () => {
          throw new Error('gone')
        },
      },
    })
    log.info({}, 'one')
    log.info({}, 'two')
  })
})

it('the silent log discards lines and creates children', () => {
  silentLog.child({ a: 1 }).error({ event: 'test.failed', err: new Error('x') }, 'nothing')
})
