/**
 * The page as a person meets it, in a real browser.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import type { PressResult } from '#sdk'
import { waitLimitMs } from '../../kit/wait-limit.ts'
import { createTab, findChromium, findSeriousIssues, type OpenOptions, startBrowser, type Tab } from './browser.ts'
import { type Gateway, target, token } from './support.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

describe('the chat page', { skip }, () => {
  let browser: Browser
  let desk: Tab
  before(async () => {
    browser = await startBrowser(chromium ?? '')
    desk = await createTab(browser, { permissions: ['clipboard-read', 'clipboard-write'] })
  })
  after(async () => {
    await desk[Symbol.asyncDispose]()
    await browser.close()
  })

  const open = (options?: OpenOptions) => desk.open(options)
  const connected = (page: Page) => page.waitForSelector('#status[data-state=open]')
  const say = async (page: Page, text: string) => {
    await page.fill('#message', text)
    await page.press('#message', 'Enter')
  }
  const turn = (gateway: Gateway, status: 'running' | 'done', turnId = 't1') =>
    gateway.adapter.activity?.(
      target,
      status === 'running' ? { kind: 'turn-started', turnId } : { kind: 'turn-ended', turnId, status },
    )

  test('without a valid token the page shows how to get one', async () => {
    await using opened = await open({ hash: '' })
    const { page, served, problems } = opened
    await page.waitForSelector('#gate:not([hidden])')
    assert.match(await page.innerText('#gate'), /hermes web url/)
    await page.press('#token', 'Enter')
    assert.notEqual(await page.innerText('#gate-problem'), '')
    await page.fill('#token', 'wrong-token-wrong')
    assert.equal(await page.innerText('#gate-problem'), '')
    await page.press('#token', 'Enter')
    await page.waitForSelector('#gate-problem:not(:empty)')
    await page.fill('#token', `${served.address}/#token=${token}`)
    await page.press('#token', 'Enter')
    await connected(page)
    assert.equal(await page.isVisible('#gate'), false)
    assert.deepEqual(problems, [])
  })

  test('assistive software finds all content in landmarks, and the visible text in the names of buttons', async () => {
    await using opened = await open()
    const { page, gateway, problems } = opened
    await connected(page)
    await gateway.reply('```sh\nls\n```\n\n```sh\nls\n```', 't0')
    await page.waitForSelector('.log pre')
    // The script is a text, because the tests are compiled without the types of a browser.
    const found = await page.evaluate(`(() => {
      const landmarks = 'header, main, dialog[aria-labelledby], section[aria-label], form[aria-label], [role=region][aria-label], [role=log]'
      const content = [...document.querySelectorAll('#app button, #app textarea, #facts')]
      const regions = [...document.querySelectorAll('[role=region]')].map((one) => one.getAttribute('aria-label'))
      const status = document.querySelector('#status')
      return {
        outside: content.filter((one) => !one.closest(landmarks) && !one.closest('[hidden]')).map((one) => one.id),
        repeatedRegions: regions.filter((name, index) => regions.indexOf(name) !== index),
        isNamedAsShown: status.getAttribute('aria-label').includes(status.textContent.trim()),
      }
    })()`)
    assert.deepEqual(found, { outside: [], repeatedRegions: [], isNamedAsShown: true })
    assert.deepEqual(problems, [])
  })

  test('the token is removed from the address bar and stored', async () => {
    await using opened = await open()
    const { page, served } = opened
    await connected(page)
    assert.equal(new URL(page.url()).hash, '')
    await page.goto(`${served.address}/`)
    await connected(page)
    await page.click('#status')
    await page.click('#forget')
    await page.waitForSelector('#gate:not([hidden])')
    await page.reload()
    await page.waitForSelector('#gate:not([hidden])')
  })

  test('an empty conversation shows suggestions and how to connect a model', async () => {
    await using opened = await open({
      prepare: (gateway) => {
        gateway.info = { ...gateway.info, provider: 'demo', model: 'demo', degraded: ['the disk is slow'] }
      },
    })
    const { page, problems } = opened
    await connected(page)
    assert.match(await page.innerText('#banners'), /the disk is slow/)
    await page.getByRole('button', { name: 'Connect one' }).click()
    await page.waitForSelector('#connect[open]')
    await page.click('#connect-close')
    await page.click('#prompts button')
    assert.notEqual(await page.inputValue('#message'), '')
    await page.click('#banners [aria-label="Close this hint"]')
    await page.reload()
    await connected(page)
    assert.equal(await page.getByRole('button', { name: 'Connect one' }).count(), 0)
    assert.deepEqual(problems, [])
  })

  test('a message is shown at once, and its reply grows in place and is announced when finished', async () => {
    await using opened = await open()
    const { page, gateway, problems } = opened
    await connected(page)
    const accepted = gateway.nextAccepted()
    await say(page, 'What is here?')
    assert.equal((await accepted).text, 'What is here?')
    await page.waitForSelector('.entry.user[data-state=sent]')
    assert.equal(await page.inputValue('#message'), '')
    turn(gateway, 'running')
    await page.waitForSelector('#working:not([hidden])')
    const tool = { turnId: 't1', callId: 'c1', tool: 'terminal' }
    gateway.adapter.activity?.(target, { kind: 'tool-started', ...tool, label: 'ls -la' })
    await page.waitForSelector('.tool[data-state=running]')
    gateway.adapter.activity?.(target, { kind: 'tool-ended', ...tool, ok: true, summary: 'three files' })
    await page.waitForSelector('.tool[data-state=done]')
    await page.click('.tool summary')
    // Nothing is stored of it, so that its line is all there is.
    assert.match(await page.innerText('.tool dl'), /ls -la[\s\S]*three files/)

    await gateway.draft('d', 'There are **three')
    const draft = await page.waitForSelector('.entry.agent.live')
    assert.equal(await page.innerText('#announcer'), '')
    await gateway.draft('d', 'There are **three** files:\n\n- a\n- b')
    await page.waitForSelector('.entry.agent.live li + li')
    await gateway.reply('There are **three** files:\n\n- a\n- b\n- c')
    turn(gateway, 'done')
    await page.waitForSelector('.entry.agent:not(.live) li:nth-child(3)')
    assert.equal(await draft.evaluate((node) => node.isConnected), true)
    assert.equal(await page.locator('.entry.agent').count(), 1)
    assert.equal(await page.locator('.entry.user').count(), 1)
    await page.waitForSelector('#working', { state: 'hidden' })
    await page.waitForSelector('#announcer:not(:empty)', { state: 'attached' })
    assert.match(await page.innerText('#announcer'), /^Hermes: There are three files:/)
    assert.deepEqual(problems, [])
  })

  test('what tools did is there after a reload, on a phone, with the keyboard alone, and whatever it contains', async () => {
    await using opened = await open({
      prepare(gateway) {
        const at = Date.now() - 60_000
        gateway.store('user', 'go', { turnId: 't1', at })
        gateway.store('agent', 'I look.', { turnId: 't1', at: at + 10 })
        gateway.store('agent', 'Done.', { turnId: 't1', at: at + 50_000 })
        const call = { turnId: 't1', tool: 'terminal', label: `cat ${'x'.repeat(180)}`, summary: '2 lines' }
        const times = { startedAt: at + 20, endedAt: at + 4_020 }
        gateway.toolCalls.push({ ...call, ...times, callId: 'c1', state: 'done' })
        const hostile = '<img src=x onerror="document.title=1">\u202eabc'
        gateway.toolViews.set('c1', (whole) => ({
          parts: [
            {
              kind: 'command',
              command: hostile,
              language: 'shell',
              output: whole ? 'z'.repeat(1_048_576) : hostile,
              exitCode: 1,
              state: '',
            },
            {
              kind: 'diff',
              path: `${'deep/'.repeat(60)}a.ts`,
              added: 1,
              removed: 1,
              text: `@@ -1 +1 @@\n-a\n+${'b'.repeat(3_000)}`,
            },
            { kind: 'lines', path: 'a.ts', first: 98, text: 'a\nb\nc' },
          ],
          isCut: !whole,
        }))
      },
    })
    const { page, problems } = opened
    await page.setViewportSize({ width: 360, height: 640 })
    await connected(page)
    await page.reload()
    await connected(page)
    await page.waitForSelector('.tool[data-state=done]')
    assert.deepEqual(
      await page
        .locator('.log > .entry:not(.user)')
        .evaluateAll((nodes) => nodes.map(({ className }) => className.split(' ')[1])),
      ['agent', 'activity', 'agent'],
    )
    assert.match(await page.innerText('.tool summary'), /2 lines[\s\S]*4 s/)
    await page.focus('.tool summary')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.tool-diff .diff-added')
    assert.match(await page.innerText('.tool-block.output pre'), /^<img src=x/)
    assert.equal(await page.innerText('.gutter'), '98\n99\n100')
    const wide = await page.evaluate(
      'document.querySelector("#scroller").scrollWidth > document.querySelector("#scroller").clientWidth',
    )
    assert.equal(wide, false)
    await page.focus('.tool-more')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.tool-parts.whole')
    assert.equal((await page.locator('.tool-block.output pre').textContent())?.length, 1_048_576)
    assert.equal(await page.innerText('.tool-more'), 'Show less')
    await page.setViewportSize({ width: 900, height: 700 })
    assert.deepEqual(problems, [])
  })

  test('the stop button and Escape stop the running turn', async () => {
    await using opened = await open()
    const { page, gateway } = opened
    await connected(page)
    assert.equal(await page.isVisible('#stop'), false)
    await say(page, 'Count to a million')
    await page.waitForSelector('.entry.user[data-state=sent]')
    turn(gateway, 'running')
    const stopped = () => page.waitForResponse((response) => response.url().endsWith('/web/stop'))
    await Promise.all([stopped(), page.click('#stop')])
    assert.equal(await page.isDisabled('#stop'), true)
    turn(gateway, 'done')
    await page.waitForSelector('#stop', { state: 'hidden' })
    turn(gateway, 'running', 't2')
    await page.waitForSelector('#stop:enabled')
    await Promise.all([stopped(), page.press('#message', 'Escape')])
    assert.deepEqual(gateway.stopped, [1, 1])
  })

  test('a lost connection is shown, and no entry is missing or duplicated afterwards', async () => {
    await using opened = await open()
    const { page, gateway, served } = opened
    await connected(page)
    await gateway.reply('before', 't0')
    await page.locator('.prose', { hasText: 'before' }).waitFor()
    turn(gateway, 'running')
    await gateway.draft('d', 'half an ans')
    await page.waitForSelector('.entry.agent.live')
    served.refuseConnections()
    await page.waitForSelector('#status[data-state=waiting]')
    await say(page, 'Are you there?')
    await page.waitForSelector('.entry.user[data-state=waiting]')
    gateway.store('agent', 'half an answer and the rest', { turnId: 't1' })
    await gateway.adapter.remove?.(target, 'd', AbortSignal.timeout(waitLimitMs()))
    turn(gateway, 'done')
    served.open()
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await connected(page)
    await page.waitForSelector('.entry.user[data-state=sent]')
    assert.deepEqual(await page.locator('.entry .prose, .slip').allInnerTexts(), [
      'before',
      'half an answer and the rest',
      'Are you there?',
    ])
    assert.equal(gateway.accepted.length, 1)
    assert.equal(await page.isVisible('#stop'), false)
  })

  test('a reply follows its question, even when another message was sent meanwhile', async () => {
    const prepare = (gateway: Gateway) => {
      gateway.store('user', 'first?', { turnId: 't1' })
      gateway.store('user', 'second?', { turnId: 't2' })
      gateway.store('agent', 'first!', { turnId: 't1' })
      gateway.store('agent', 'second!', { turnId: 't2' })
    }
    await using opened = await open({ prepare })
    await connected(opened.page)
    const entries = opened.page.locator('.entry .prose, .slip')
    // Replies are shown when the code that renders them has arrived.
    await entries.nth(3).waitFor()
    assert.deepEqual(await entries.allInnerTexts(), ['first?', 'first!', 'second?', 'second!'])
  })

  test('unsent messages and the draft in the field survive a reload', async () => {
    await using opened = await open()
    const { page, gateway, served } = opened
    await connected(page)
    await page.route('**/web/messages', (route) => route.abort())
    await say(page, 'Do not lose me')
    await page.waitForSelector('.entry.user[data-state=waiting]')
    await page.fill('#message', 'half a thou')
    await page.unroute('**/web/messages')
    await page.goto(`${served.address}/`)
    await page.waitForSelector('.entry.user[data-state=sent]')
    assert.equal(await page.inputValue('#message'), 'half a thou')
    assert.deepEqual(
      gateway.accepted.map(({ text }) => text),
      ['Do not lose me'],
    )
    await page.reload()
    await connected(page)
    assert.equal(await page.locator('.entry.user').count(), 1)
    assert.equal(gateway.accepted.length, 1)
  })

  test('a refused message shows the reason and can be sent again', async () => {
    await using opened = await open()
    const { page, gateway } = opened
    await connected(page)
    const refusal = { error: { code: 'inbox/too-large', message: 'The message is too large.', hint: 'Send less.' } }
    await page.route('**/web/messages', (route) => route.fulfill({ status: 413, json: refusal }))
    await say(page, 'A long story')
    await page.waitForSelector('.entry.user[data-state=failed]')
    assert.match(await page.innerText('.entry.user'), /The message is too large\. Send less\./)
    await page.unroute('**/web/messages')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.waitForSelector('.entry.user[data-state=sent]')
    assert.equal(gateway.accepted.length, 1)
  })

  test('Markdown is rendered without executing HTML or scripts', async () => {
    await using opened = await open()
    const { page, gateway, problems } = opened
    await connected(page)
    await gateway.reply(hostile)
    await page.waitForSelector('.prose table')
    assert.equal(await page.locator('.prose :is(img, iframe, script, svg:not(.icon), [onerror], [onclick])').count(), 0)
    const links = await page.locator('.prose a').all()
    assert.deepEqual(await Promise.all(links.map((link) => link.getAttribute('href'))), [
      'https://example.org/?a=1&b=2',
      'mailto:me@example.org',
      'https://example.org/pixel.png',
    ])
    for (const link of links) assert.equal(await link.getAttribute('rel'), 'noopener noreferrer')
    const text = (await page.textContent('.prose')) ?? ''
    for (const shown of ['<img src=x onerror=alert(1)>', '<script>alert(2)</script>', 'a < b & c', 'click', 'a & b']) {
      assert.ok(text.includes(shown), shown)
    }
    assert.deepEqual(problems, [])
  })

  test('the inner levels of a text that is nested too deeply are shown as plain text', async () => {
    await using opened = await open()
    const { page, gateway, problems } = opened
    await connected(page)
    const deep = `${'>'.repeat(20_000)} deep`
    await gateway.reply(deep)
    const innermost = `${'blockquote '.repeat(20)} p`
    await page.waitForSelector(`.prose ${innermost}`)
    assert.match((await page.textContent(`.prose ${innermost}`)) ?? '', /^>{19000,} deep$/)
    assert.deepEqual(problems, [])
  })

  test('code can be copied, and a long line scrolls in its block', async () => {
    await using opened = await open()
    const { page, gateway } = opened
    await connected(page)
    const code = `const answer = "${'42'.repeat(100)}" // always\n`
    await gateway.reply(`\`\`\`js\n${code}\`\`\``)
    await page.waitForSelector('.code')
    assert.equal(await page.innerText('.code-head span'), 'js')
    await page.click('[data-copy]')
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), code.trimEnd())
  })

  test('the scroll position is kept while text is added, and a button jumps to the end', async () => {
    const prepare = (gateway: Gateway) => {
      for (let count = 1; count <= 70; count += 1) gateway.store(count % 2 ? 'user' : 'agent', `line ${count}`)
    }
    await using opened = await open({ prepare })
    const { page, gateway } = opened
    await connected(page)
    const box = "document.querySelector('#scroller')"
    // The text, and not `scrollTop`: the browser adjusts that when something above the reader changes its height.
    const firstRead = `[...document.querySelectorAll('.entry')].find((entry) => entry.getBoundingClientRect().top >= 0)`
    const positionOf = (entry: string) => page.evaluate<number>(`Math.round(${entry}.getBoundingClientRect().top)`)
    const isAtEnd = `${box}.scrollHeight - ${box}.scrollTop - ${box}.clientHeight < 2`
    await waitUntil(page, isAtEnd)
    await page.press('#message', 'PageUp')
    await page.waitForSelector('#jump:not([hidden])')
    await page.evaluate(`window.firstRead = ${firstRead}`)
    const position = await positionOf('window.firstRead')
    turn(gateway, 'running')
    await gateway.draft('d', 'one\n\n'.repeat(40))
    await page.waitForSelector('.entry.agent.live')
    assert.equal(await positionOf('window.firstRead'), position)
    await page.click('#jump')
    await waitUntil(page, isAtEnd)
    await gateway.draft('d', 'one\n\n'.repeat(80))
    await page.locator('.live p').nth(79).waitFor()
    await waitUntil(page, isAtEnd)

    assert.equal(await page.getByText('line 10', { exact: true }).count(), 0)
    await page.click('#older')
    await page.getByText('line 10', { exact: true }).waitFor()
    assert.equal(await page.isVisible('#older'), false)
  })

  test('commands are suggested while typing; Shift and Enter start a new line', async () => {
    await using opened = await open()
    const { page, gateway } = opened
    await connected(page)
    gateway.commands.push({ name: 'status', description: 'Shows the state', argsHint: '' })
    gateway.commands.push({ name: 'sessions', description: 'Lists conversations', argsHint: '' })
    await page.fill('#message', '/se')
    await page.getByText('Lists conversations', { exact: true }).waitFor()
    await page.fill('#message', '/st')
    assert.deepEqual(await page.locator('#hints code').allInnerTexts(), ['/stop', '/status'])
    await page.press('#message', 'ArrowDown')
    assert.equal(await page.getAttribute('#message', 'aria-activedescendant'), 'hint-status')
    const accepted = gateway.nextAccepted()
    await page.press('#message', 'Enter')
    assert.equal((await accepted).text, '/status')
    await page.fill('#message', 'one')
    await page.press('#message', 'Shift+Enter')
    await page.keyboard.type('two')
    const second = gateway.nextAccepted()
    await page.press('#message', 'Enter')
    assert.equal((await second).text, 'one\ntwo')
  })

  test('on a phone nothing is wider than the screen, and Enter starts a new line', async () => {
    await using phone = await createTab(browser, {
      viewport: { width: 360, height: 640 },
      hasTouch: true,
      isMobile: true,
    })
    await using opened = await phone.open()
    const { page, gateway, problems } = opened
    await connected(page)
    const cells = '| long column heading | and another one | and a third |\n|-|-|-|\n| some cell text | more | more |'
    await gateway.reply(
      `${'w'.repeat(300)}\n\n\`${'c'.repeat(200)}\`\n\n${cells}\n\n\`\`\`\n${'x'.repeat(300)}\n\`\`\``,
    )
    await page.waitForSelector('.code')
    for (const name of ['html', 'body', '#scroller', '#content']) {
      const box = `document.querySelector('${name}')`
      assert.equal(await page.evaluate(`${box}.scrollWidth - ${box}.clientWidth`), 0, name)
    }
    await page.fill('#message', 'one')
    await page.press('#message', 'Enter')
    assert.equal(await page.inputValue('#message'), 'one\n')
    await page.tap('#send')
    await page.waitForSelector('.entry.user[data-state=sent]')
    assert.deepEqual(problems, [])
  })

  test('the page follows the colour scheme of the browser', async () => {
    await using opened = await open()
    const { page } = opened
    const paper = async (colorScheme: 'light' | 'dark' | null) => {
      await page.emulateMedia({ colorScheme })
      return page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    }
    assert.deepEqual([await paper('light'), await paper('dark')], ['rgb(251, 251, 252)', 'rgb(16, 18, 21)'])
    await page.emulateMedia({ colorScheme: null })
  })

  describe('questions', () => {
    const question = (command: string) =>
      `May I run \`terminal\`?\n\n\`\`\`\n${command}\n\`\`\`\n\nOnly an owner may answer.`
    const cards = (page: Page, state: string) => page.locator(`.entry.question[data-state=${state}]`)

    test('are answered with the keyboard: the buttons are disabled at once, and the result replaces them', async () => {
      await using opened = await open()
      const { page, gateway, problems } = opened
      await connected(page)
      await gateway.ask('q1', question('rm -r build'))
      await gateway.ask('q2', question('rm -r dist'))
      await cards(page, 'open').nth(1).waitFor()
      assert.match(await page.innerText('#announcer'), /rm -r build[\s\S]*Allow once, This session, Always, Deny/)
      const first = cards(page, 'open').first()
      await first.getByRole('button', { name: 'Allow once' }).focus()
      await page.keyboard.press('Tab')
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'This session')
      assert.notEqual(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
      const { promise, resolve } = Promise.withResolvers<PressResult>()
      gateway.onPress = () => promise
      await page.keyboard.press('Enter')
      await waitUntil(page, "document.querySelectorAll('.choices button:disabled').length === 4")
      // A second Enter answers neither this question nor the next one.
      await page.keyboard.press('Enter')
      resolve({ status: 'taken', text: 'Allowed until this session ends.' })
      await gateway.settle('q1', '**This session** — owner')
      await cards(page, 'accepted').waitFor()
      assert.equal(await page.evaluate("document.activeElement.closest('.question').dataset.state"), 'accepted')
      assert.match(await cards(page, 'accepted').innerText(), /This session — owner/)
      assert.equal(await cards(page, 'accepted').getByRole('button', { name: 'Allow once' }).count(), 0)
      assert.equal(await cards(page, 'open').count(), 1)
      assert.deepEqual(gateway.presses, ['appr:q1:1'])
      assert.deepEqual(problems, [])
    })

    test('that are open are shown again after a reload, and settled ones with their result', async () => {
      await using opened = await open()
      const { page, gateway } = opened
      await connected(page)
      await gateway.ask('q1', question('one'))
      await gateway.ask('q2', question('two'))
      await gateway.settle('q2', '**Deny** — owner', 'refused')
      await cards(page, 'refused').waitFor()
      await page.reload()
      await cards(page, 'refused').waitFor()
      assert.equal(await page.locator('.entry.question').count(), 2)
      assert.match(await cards(page, 'refused').innerText(), /Deny — owner/)
      await cards(page, 'open').getByRole('button', { name: 'Deny' }).click()
      await cards(page, 'open').getByText('Allowed, this once.').waitFor()
      assert.deepEqual(gateway.presses, ['appr:q1:3'])
    })

    test('that were answered in another tab or before a restart say so, and their buttons stay disabled', async () => {
      await using opened = await open()
      const { page, gateway } = opened
      await connected(page)
      await gateway.ask('q1', question('one'))
      gateway.onPress = () => ({ status: 'stale', text: 'This was answered before: Deny.' })
      await page.getByRole('button', { name: 'Allow once' }).click()
      await page.getByText('This was answered before: Deny.').waitFor()
      assert.equal(await page.locator('.choices button:enabled').count(), 0)
    })

    test('stay open when the answer could not be stored', async () => {
      await using opened = await open()
      const { page, gateway, served } = opened
      await connected(page)
      await gateway.ask('q1', question('one'))
      await cards(page, 'open').waitFor()
      served.refuseConnections()
      await page.getByRole('button', { name: 'Allow once' }).click()
      await page.getByText('The answer was not stored').waitFor()
      assert.equal(await page.locator('.choices button:enabled').count(), 4)
      served.open()
    })

    test('of the agent can be answered in own words', async () => {
      await using opened = await open()
      const { page, gateway } = opened
      await connected(page)
      gateway.onPress = () => ({ status: 'taken', text: 'Please write your answer as a message.' })
      await gateway.ask('q1', 'Which colour?', ['Red', 'Blue', 'Other'])
      await page.getByRole('button', { name: 'Other' }).click()
      await page.getByText('Please write your answer as a message.').waitFor()
      await waitUntil(page, "document.activeElement.id === 'message'")
      assert.equal(await page.locator('.choices button:enabled').count(), 3)
    })

    test('keep their order, ten of them, between the message and the reply of their turn', async () => {
      await using opened = await open({ prepare: (gateway) => gateway.store('user', 'Go on', { turnId: 't1' }) })
      const { page, gateway } = opened
      await connected(page)
      for (let count = 1; count <= 10; count += 1) await gateway.ask(`q${count}`, question(`rm -r ${count}`))
      for (const count of [7, 2]) await gateway.settle(`q${count}`, '**Allow once** — owner')
      await gateway.reply('Done.', 't1')
      await page.locator('.entry.agent').waitFor()
      const expected = ['Go on', ...Array.from({ length: 10 }, (_, index) => `rm -r ${index + 1}`), 'Done.']
      const order = () => page.locator('.slip, .question pre, .entry.agent .prose').allInnerTexts()
      assert.deepEqual(await order(), expected)
      await page.reload()
      await page.locator('.entry.agent').waitFor()
      assert.deepEqual(await order(), expected)
    })

    test('have no serious issue for assistive software', async () => {
      await using phone = await createTab(browser, {
        viewport: { width: 360, height: 640 },
        hasTouch: true,
        isMobile: true,
      })
      for (const tab of [desk, phone]) {
        await using opened = await tab.open()
        const { page, gateway, problems } = opened
        await connected(page)
        await gateway.ask('q1', question(`rm -r ${'long'.repeat(80)}`))
        await gateway.ask('q2', 'Which?', ['Red', 'B'.repeat(60), 'Other'])
        await gateway.ask('q3', question('three'))
        await gateway.settle('q3', '**Deny** — owner', 'refused')
        await cards(page, 'refused').waitFor()
        assert.equal(
          await page.evaluate(
            "document.querySelector('#content').scrollWidth - document.querySelector('#content').clientWidth",
          ),
          0,
        )
        const issues = () => findSeriousIssues(page)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          assert.deepEqual(await issues(), [], colorScheme)
        }
        await page.emulateMedia({ colorScheme: null, reducedMotion: null })
        assert.deepEqual(problems, [])
      }
    })
  })
})

/**
 * Waits until an expression is true in the page. `page.waitForFunction` evaluates a text again within the page, which the
 * content security policy forbids.
 */
async function waitUntil(page: Page, expression: string): Promise<void> {
  for (const until = performance.now() + waitLimitMs(); !(await page.evaluate<boolean>(expression)); await pause(20)) {
    if (performance.now() > until) assert.fail(`not true in time: ${expression}`)
  }
}

const hostile = `Raw <img src=x onerror=alert(1)> in a line.

<script>alert(2)</script>

<iframe src="javascript:alert(3)"></iframe>

[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>) [into the gateway](/web/stop)
[web](https://example.org/?a=1&amp;b=2 "a &quot;title&quot;") <me@example.org>

![a pixel](https://example.org/pixel.png) ![bad](javascript:alert(6)) ![svg](data:image/svg+xml;base64,PHN2Zz4=)

a &lt; b &amp; c

| <b onclick=alert(7)>x</b> | a &amp; b |
|-|-|
| 1 | 2 |
`
