/**
 * Secrets are removed, other text is unchanged.
 *
 * The canaries are concatenated from parts, so that secret scanners do not report this file.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { beginningOf, createRedactor, createSecretFilter, endOf, toShortLine } from '../../src/lib/redact.ts'

const letters = 'AbCdEfGhIjKlMnOpQrStUvWxYz0123456789'
const telegram = `123456789:${letters.slice(0, 35)}`
const openai = `sk-${'proj-'}${letters}`
const anthropic = `sk-${'ant-api03-'}${letters}`
const slackBot = `xox${'b-'}123456789012-${letters.slice(0, 24)}`
const slackApp = `xap${'p-1'}-A0123456-${letters}`
const discord = `MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.${letters}`
const webToken = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}`
const github = `gh${'p_'}${letters}`
const google = `AI${'za'}${letters.slice(0, 35)}`
const aws = `AK${'IA'}ABCDEFGHIJKLMNOP`
const pem = ['-----BEGIN PRIVATE KEY-----', letters, letters, '-----END PRIVATE KEY-----'].join('\n')

describe('what looks like a secret', () => {
  const redact = createRedactor({ secrets: () => [] })
  const table: readonly [string, string, string][] = [
    ['a Telegram token in an address', `POST https://api.telegram.org/bot${telegram}/sendMessage failed`, telegram],
    ['a Telegram token in a sentence', `the token ${telegram} was refused`, telegram],
    ['a key of OpenAI', `Incorrect API key provided: ${openai}.`, openai],
    ['a key of Anthropic', `x-api-key: ${anthropic}`, anthropic],
    ['a bot token of Slack', `slack said invalid_auth for ${slackBot}`, slackBot],
    ['an app token of Slack', slackApp, slackApp],
    ['a token of Discord', `Bot ${discord} is not valid`, discord],
    ['a JSON Web Token', `cookie jwt=${webToken}; path=/`, webToken],
    ['a token of GitHub', `https://x-access-token:${github}@github.com/a/b`, github],
    ['a key of Google', `https://example.org/v1?alt=json&key=${google}`, google],
    ['a key of AWS', `credentials ${aws} used`, aws],
    ['a bearer token', `authorization: Bearer ${letters}`, letters],
    ['a bearer token without its header', `sent "Bearer ${letters}" to the server`, letters],
    ['basic authentication', 'Authorization: Basic dXNlcjpodW50ZXIy', 'dXNlcjpodW50ZXIy'],
    ['a header in JSON', `{"headers":{"Authorization":"Bot ${letters}"}}`, letters],
    ['a cookie in JSON', '{"cookie":"session=hunter2hunter2"}', 'hunter2hunter2'],
    ['a query parameter', 'GET /hook?user=1&token=hunter2&x=y', 'hunter2'],
    ['an api_key parameter', 'https://h/p?api_key=hunter2', 'hunter2'],
    ['a signature in an address', 'https://h/f.png?Expires=1&signature=hunter2abc', 'hunter2abc'],
    ['a password in an address', 'postgres://hermes:hunter2@db:5432/x', 'hunter2'],
    ['a password in a sentence', 'connect failed: host=db password=hunter2 user=me', 'hunter2'],
    ['a password with quotes', "options: { user: 'me', password: 'hunter2' }", 'hunter2'],
    ['a variable', 'TELEGRAM_BOT_TOKEN=hunter2hunter2', 'hunter2hunter2'],
    ['a field of JSON', '{"a":1,"password":"hunt\\"er2","b":2}', 'er2'],
    ['a field in camel case', '{"botToken":"hunter2","b":2}', 'hunter2'],
    ['a field called key', `{"key":"${letters}"}`, letters],
    ['JSON inside JSON', JSON.stringify({ body: JSON.stringify({ client_secret: 'hunter2' }) }), 'hunter2'],
    ['JSON inside JSON inside JSON', JSON.stringify(JSON.stringify(JSON.stringify({ token: 'hunter2' }))), 'hunter2'],
    ['a private key', `key:\n${pem}\nend`, letters],
    ['a private key in JSON', JSON.stringify({ k: pem }), letters],
    ['a private key that is cut off', pem.slice(0, 60), letters.slice(0, 20)],
    [
      'a webhook of Slack',
      `https://hooks.slack.com/services/T0123456/B0123456/${letters.slice(0, 24)}`,
      letters.slice(0, 24),
    ],
    ['a webhook of Discord', `https://discord.com/api/webhooks/123456789012345678/${letters}`, letters],
    ['an interaction of Discord', `POST /interactions/123456789012345678/${letters}/callback`, letters],
  ]
  for (const [what, text, secret] of table) {
    it(`${what} is removed`, () => {
      const clean = redact(text)
      assert.ok(text.includes(secret))
      assert.ok(!clean.includes(secret), clean)
      assert.match(clean, /\[redacted\]/)
    })
  }

  it('keeps the text around a secret', () => {
    assert.equal(
      redact(`POST https://api.telegram.org/bot${telegram}/sendMessage 401 after 12 ms`),
      'POST https://api.telegram.org/bot[redacted]/sendMessage 401 after 12 ms',
    )
    assert.equal(redact('GET /hook?user=1&token=hunter2&x=y 200'), 'GET /hook?user=1&token=[redacted]&x=y 200')
    assert.equal(redact(`a ${pem} b`), 'a [redacted] b')
  })
})

describe('ordinary text', () => {
  const redact = createRedactor({ secrets: () => [] })
  const lines = [
    'turn finished in 1234 ms with 12 tool calls and 3,456 tokens',
    '{"level":"info","time":"2026-11-20T10:11:12.345Z","session_key":"agent:main:telegram:dm:123456789","msg":"turn done"}',
    '{"session":"20261120_101112_0a1b2c3d","turn":"0193e0a1-7b3c-7def-8123-456789abcdef","key":"tg:123456789:987654321"}',
    '{"input_tokens":1234,"output_tokens":56,"max_output_tokens":8192,"token":"the"}',
    'the bearer of good news; Bearer authentication is required',
    'Authorization: required. See the section about authorization: it is short.',
    'press any key = continue; key=value pairs are fine; sort key: name',
    'Unexpected token } in JSON at position 12',
    'the token budget is used up, no secret about it: password reset by mail',
    'please ask-someone-about-the-risk-of-it and use scikit-learn-style-names',
    'see https://example.org/path?page=2&sort=asc#keys and mail a.b@example.org',
    'file:///home/me/src/agent/loop.ts:123:45 at 10:11:12.345 on 127.0.0.1:8642',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'commit d9336ffa1b2c3d4e5f60718293a4b5c6d7e8f901 of branch main',
    'Node.js.version.24.21.0 runs on Linux; MODULE.EXPORT.names stay',
    '-----BEGIN CERTIFICATE----- is public',
    'привет, как дела? 你好 😀 Größe',
  ]
  for (const line of lines) {
    it(`is unchanged: ${line.slice(0, 50)}`, () => {
      assert.equal(redact(line), line)
    })
  }
})

describe('a secret that is known', () => {
  const secret = 'p@ss "wörd"/1+\\x'
  const redact = createRedactor({ secrets: () => [secret, 'plainsecret'] })
  const forms: readonly [string, string][] = [
    ['as it is', secret],
    ['in JSON', JSON.stringify({ text: secret })],
    ['in JSON in JSON', JSON.stringify({ text: JSON.stringify({ text: secret }) })],
    ['in an address', `https://h/?q=${encodeURIComponent(secret)}`],
    ['in an address in small letters', encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ['in a form', new URLSearchParams({ q: secret }).toString()],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64 of addresses', Buffer.from(secret).toString('base64url')],
    ['in base64 behind a user name', Buffer.from(`user:${secret}`).toString('base64')],
    ['in base64 behind a longer one', Buffer.from(`user1:${secret}`).toString('base64')],
    ['in base64 between others', Buffer.from(`users2:${secret}:more`).toString('base64')],
  ]
  for (const [how, text] of forms) {
    it(`is found ${how}`, () => {
      const clean = redact(`before ${text} after`)
      assert.match(clean, /^before .*\[redacted\].* after$/)
      assert.ok(!clean.includes(secret))
      for (const piece of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').slice(4, 16)]) {
        assert.ok(!clean.includes(piece), clean)
      }
    })
  }

  it('with four or five characters is removed where it stands alone', () => {
    const short = createRedactor({ secrets: () => ['ab1de', 'x"y1', '4711', 'geheim'] })
    const removed = [
      'the key ab1de was refused',
      'key=ab1de',
      '{"key":"ab1de","ok":true}',
      'Bearer ab1de.',
      'https://h/ab1de/x',
      '/bin/sh -c --key=ab1de',
      JSON.stringify({ text: 'first\nab1de\nlast' }),
      JSON.stringify({ text: JSON.stringify({ text: 'first\nab1de' }) }),
      '\u001b[31mab1de\u001b[0m',
      JSON.stringify({ text: '\u001b[31mab1de\u001b[0m' }),
      Buffer.from('ab1de').toString('base64'),
    ]
    for (const text of removed) assert.doesNotMatch(short(text), /ab1de|YWIxZGU/, text)
    assert.doesNotMatch(short(JSON.stringify({ text: 'x"y1' })), /y1/)
    assert.equal(short('pin 4711 was refused, "4711"'), 'pin [redacted] was refused, "[redacted]"')
    const kept = [
      'cab1de and ab1dex and ab1de_2',
      '{"ms":4711,"list":[4711,1]}',
      '127.0.0.1:4711',
      'in 0.4711 seconds, 4711.5 and 2026-4711',
      '47110',
    ]
    for (const text of kept) assert.equal(short(text), text)
  })

  it('with fewer than four characters, or that says that there is none, is not removed', () => {
    const none = createRedactor({ secrets: () => ['1', 'abc', 'true', 'none', 'test', ''] })
    assert.equal(none('{"test":true,"a":"abc","n":1} none'), '{"test":true,"a":"abc","n":1} none')
  })

  it('that is a part of an unknown secret does not hide the rest of it from the patterns', () => {
    assert.equal(createRedactor({ secrets: () => ['123456'] })(`bot${telegram}/x`), 'bot[redacted]/x')
  })

  it('that overlaps another one is removed with it', () => {
    const both = createRedactor({ secrets: () => ['abcdef', 'abcdefghij'] })
    assert.equal(both('1 abcdefghij 2 abcdef 3'), '1 [redacted] 2 [redacted] 3')
  })

  it('is removed as soon as it is registered', () => {
    let known: readonly string[] = []
    const live = createRedactor({ secrets: () => known })
    assert.equal(live('the word is fresh-secret'), 'the word is fresh-secret')
    known = ['fresh-secret']
    assert.equal(live('the word is fresh-secret'), 'the word is [redacted]')
  })
})

describe('a line of a megabyte', () => {
  const redact = createRedactor({ secrets: () => Array.from({ length: 40 }, (_, index) => `${letters}${index}`) })
  // Each would take minutes in an expression that backtracks.
  const units = [
    'a',
    '1',
    'M',
    ' ',
    '"',
    '\\',
    'sk-',
    'xoxb-',
    'Bearer ',
    'eyJ.',
    '?token=',
    'a_b_c_d_e_token=',
    '://a:',
    '123456:',
    '"token":"a\\',
    '\\"token\\"',
    '"key":"a-',
    '-----BEGIN PRIVATE KEY-----"',
    'authorization: ',
  ]
  for (const unit of units) {
    it(`of ${JSON.stringify(unit)} is searched in linear time`, () => {
      const text = unit.repeat(Math.ceil(1_000_000 / unit.length))
      assert.ok(redact(text).length > 0)
    })
  }

  it('has its secret removed at any position', () => {
    const filler = 'lorem ipsum dolor sit amet, '.repeat(18_000)
    const clean = redact(`${filler}${anthropic} ${filler}${telegram}`)
    assert.equal(clean, `${filler}sk-[redacted] ${filler}[redacted]`)
  })
})

describe('what leaves the gateway', () => {
  const secret = 'Xy7!correct"horse-battery'
  const other = 'staple-0123456789abcdef'
  const { withhold, withholdPartial } = createSecretFilter(() => [secret, other])
  const forms = {
    itself: secret,
    'in JSON': JSON.stringify(secret).slice(1, -1),
    'in base64': Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    'in base64 behind a name': Buffer.from(`user:${secret}`).toString('base64'),
    'in a URL': encodeURIComponent(secret),
    'in hexadecimal': Buffer.from(secret).toString('hex'),
    reversed: [...secret].reverse().join(''),
  }
  for (const [name, form] of Object.entries(forms)) {
    it(`has no secret ${name}, and a stream never shows more than three characters of it`, () => {
      const text = `You asked for it: ${form} and ${other}. That is all.`
      assert.doesNotMatch(withhold(text), /correct|horse|staple|esroh/)
      assert.match(withhold(text), /^You asked for it: .*\[withheld: a secret of this gateway\].* That is all\.$/)
      for (let length = 0; length <= text.length; length++) {
        const shown = withholdPartial(text.slice(0, length))
        const complete = withhold(text)
        assert.ok(
          [0, 1, 2, 3].some((more) => complete.startsWith(shown.slice(0, shown.length - more))),
          shown,
        )
      }
    })
  }

  it('is unchanged when there is no secret in it', () => {
    for (const text of ['', 'a', 'Nothing secret: correct, horse, battery.', 'staple-01234']) {
      assert.equal(withhold(text), text)
    }
    assert.equal(withholdPartial('We staple papers.'), 'We staple papers.')
    assert.equal(withholdPartial('We staple-0'), 'We ')
  })
})

it('a text is shortened to one line after its secrets have left it', () => {
  const secret = 'Kx9_mPq2-Lw7_vRt5Zb'
  const { withhold } = createSecretFilter(() => [secret])
  assert.equal(toShortLine('one\n\t two  ', 80, withhold), 'one two')
  assert.equal(toShortLine('one\u202etwo', 80, withhold), 'one\\u202etwo')
  assert.equal(toShortLine('😀'.repeat(90), 80, withhold), `${'😀'.repeat(79)}…`)
  assert.equal(toShortLine(`${' '.repeat(1_000)}x`, 80, withhold), 'x')
  for (let before = 0; before < 400; before += 1) {
    const line = toShortLine(`${'a '.repeat(before)}${secret}`, 80, withhold)
    assert.ok([...line].length <= 80)
    assert.doesNotMatch(line, /Kx9/)
  }
})

describe('a text that is cut before its secrets are taken out', () => {
  it('has no part of a secret, wherever the cut is', () => {
    const text = `before it ${github} behind it`
    const redact = createRedactor({ secrets: () => [github], knownOnly: true })
    for (let chars = 0; chars <= text.length; chars += 1)
      for (const cut of [beginningOf(text, chars), endOf(text, chars)]) {
        assert.ok(cut.length <= chars)
        assert.doesNotMatch(redact(cut), /gh|Ab|89/)
      }
    assert.equal(beginningOf(text, 9), 'before it')
    assert.equal(endOf(text, 9), 'behind it')
  })

  it('keeps a text that is written without spaces up to the cut, and no part of a secret in it', () => {
    const text = `${'漢字'.repeat(300)}${github}${'한글'.repeat(300)}`
    assert.equal(beginningOf(text, 250), text.slice(0, 250))
    assert.equal(endOf(text, 250), text.slice(-250))
    assert.equal(beginningOf(text, 605), text.slice(0, 600))
    assert.equal(endOf(text, 605), text.slice(-600))
  })

  it('never splits a surrogate pair', () => {
    for (let chars = 0; chars <= 12; chars += 1)
      for (const cut of [beginningOf('😀 😀 😀 😀', chars), endOf('😀 😀 😀 😀', chars)]) assert.ok(cut.isWellFormed())
  })
})
