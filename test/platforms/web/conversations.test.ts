/**
 * The list of conversations beside the chat, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false
const desk = { width: 1440, height: 900 }
type Answer = NonNullable<NonNullable<Parameters<typeof startTestGateway>[1]>['model']>
const echo: Answer = ({ lastUserText }) => ({ text: `You said: ${lastUserText}` })
const phone = { width: 390, height: 844 }

describe('the conversations of the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  async function open(t: TestContext, viewport = desk, model: Answer = echo) {
    const gateway = await startTestGateway(t, { model })
    const context = await browser.newContext({ viewport, acceptDownloads: true })
    t.after(() => context.close())
    context.setDefaultTimeout(30_000)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    const { url, token } = gateway.current()
    const visit = async (path = '/') => {
      await page.goto(`${url}${path}#token=${token()}`)
      await page.waitForSelector('#app:not([hidden])')
    }
    return { gateway, page, problems, visit }
  }

  const say = async (page: Page, text: string) => {
    await page.waitForSelector('#status[data-state=open]')
    await page.fill('#message', text)
    await page.press('#message', 'Enter')
    await page.locator('.log').getByText(`You said: ${text}`).waitFor()
  }
  const row = (page: Page, text: string) => page.locator('#conversations-list li:not(.group)', { hasText: text })

  test('conversations of the page and of other platforms are listed, searched by their words and opened', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await gateway.say('the train to Oslo')
    await gateway.waitForReply('You said: the train to Oslo')
    await visit()
    await say(page, 'bread with rye')
    await page.click('#new')
    await say(page, 'a song')
    await row(page, 'a song').waitFor()
    assert.equal(await page.locator('#conversations-list li:not(.group)').count(), 3)
    assert.equal(await row(page, 'a song').locator('a').getAttribute('aria-current'), 'page')

    await page.fill('#conversations-search', 'rye')
    await row(page, 'a song').waitFor({ state: 'detached' })
    assert.equal(await page.innerText('#conversations-list mark >> nth=0'), 'rye')
    await row(page, 'bread with rye').locator('a').click()
    await page.locator('.slip', { hasText: 'bread with rye' }).waitFor()

    await row(page, 'the train to Oslo').locator('a').click()
    await page.getByText('You are reading a conversation on fake.').waitFor()
    await page.locator('.log').getByText('You said: the train to Oslo').waitFor()
    assert.equal(await page.isVisible('#composer'), false)
    assert.deepEqual(problems, [])
  })

  test('a conversation of another platform is continued in the page, and goes on there', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await gateway.say('remember the number 17')
    await gateway.waitForReply('17')
    await visit()
    await row(page, 'remember the number 17').locator('a').click()
    await page.click('#reading-continue')
    await page.getByText('Continues').waitFor()
    await page.locator('#continues-link', { hasText: 'remember the number 17' }).waitFor()
    await say(page, 'which number?')
    assert.match(JSON.stringify(gateway.model.requests.at(-1)?.body), /remember the number 17/)
    await gateway.say('still here')
    await gateway.waitForReply('You said: still here')
    assert.deepEqual(problems, [])
  })

  test('a conversation is named, saved as a file and deleted, and a deletion is taken back', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await visit('/?chat=one')
    await say(page, 'first words')
    await visit('/?chat=two')
    await say(page, 'second words')
    const about = async (text: string) => {
      await row(page, text).hover()
      await row(page, text).getByRole('button').click()
    }
    await about('first words')
    await page.fill('#conversation-name', 'A better name')
    await page.press('#conversation-name', 'Enter')
    await row(page, 'A better name').waitFor()

    await about('A better name')
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#conversation-markdown')])
    assert.equal(download.suggestedFilename(), 'A better name.md')
    await page.click('#conversation-delete')
    await page.click('#undo-button')
    await row(page, 'A better name').waitFor()
    const titles = async () => {
      const { sessions } = JSON.parse(await (await gateway.http('/api/sessions')).text())
      return sessions.map(({ about: text }: { readonly about: string }) => text)
    }
    assert.deepEqual((await titles()).toSorted(), ['A better name', 'second words'])

    await about('second words')
    await page.click('#conversation-delete')
    // A message in the open conversation takes its deletion back.
    await say(page, 'one thing more')
    await row(page, 'second words').waitFor()
    assert.equal(await page.isVisible('#undo'), false)

    await about('A better name')
    await page.click('#conversation-delete')
    // A page that is left deletes at once what it has promised.
    await page.goto('about:blank')
    await until(async () => (await titles()).filter((text: string) => text !== '').length === 1)
    await visit('/?chat=two')
    await row(page, 'second words').waitFor()
    assert.equal(await page.locator('#conversations-list li:not(.group)').count(), 1)
    assert.deepEqual(problems, [])
  })

  test('a pinned conversation stays at the top, on every page, and a copy of it opens', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await visit('/?chat=one')
    await say(page, 'the plan')
    await visit('/?chat=two')
    await say(page, 'small talk')
    const about = async (text: string) => {
      await row(page, text).hover()
      await row(page, text).getByRole('button').click()
    }
    const order = async () =>
      (await page.locator('#conversations-list li').allInnerTexts()).map((text) => text.split('\n')[0])
    await about('the plan')
    await page.click('#conversation-pin')
    await page.locator('#conversations-list .group', { hasText: 'Pinned' }).waitFor()
    assert.deepEqual(await order(), ['Pinned', 'the plan', 'Today', 'small talk'])
    await page.reload()
    await row(page, 'the plan').waitFor()
    assert.deepEqual(await order(), ['Pinned', 'the plan', 'Today', 'small talk'])
    await page.fill('#conversations-search', 'small')
    await row(page, 'the plan').waitFor({ state: 'detached' })
    await page.fill('#conversations-search', '')
    await row(page, 'the plan').waitFor()
    await about('the plan')
    await page.click('#conversation-pin')
    await page.locator('#conversations-list .group', { hasText: 'Pinned' }).waitFor({ state: 'detached' })
    assert.deepEqual(await order(), ['Today', 'small talk', 'the plan'])

    await about('the plan')
    await page.click('#conversation-copy')
    await page.locator('#continues-link', { hasText: 'the plan' }).waitFor()
    await say(page, 'what is it?')
    assert.match(JSON.stringify(gateway.model.requests.at(-1)?.body), /the plan/)
    assert.deepEqual(problems, [])
  })

  test('a message is edited in a branch, answered again, and goes on from any point; nothing is lost', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await visit('/?chat=one')
    await say(page, 'first question')
    await say(page, 'second question')
    const menuOf = async (text: string, entry: string) => {
      const message = page.locator('.entry', { has: page.getByText(text, { exact: true }) }).last()
      await message.hover()
      await message.getByRole('button', { name: 'More about this message' }).click()
      await page.getByRole('menuitem', { name: entry }).click()
    }
    // With the keyboard: the menu opens at its first entry, and Escape gives an edit up.
    await page.fill('#message', 'a draft')
    await page.locator('.entry.user', { hasText: 'first question' }).getByRole('button').focus()
    await page.keyboard.press('Enter')
    await page.locator('[role=menuitem]:focus', { hasText: 'Edit' }).waitFor()
    await page.keyboard.press('Enter')
    assert.equal(await page.inputValue('#message'), 'first question')
    await page.keyboard.press('Escape')
    assert.equal(await page.inputValue('#message'), 'a draft')
    await page.fill('#message', '')

    await menuOf('second question', 'Edit')
    await page.fill('#message', 'another question')
    await page.press('#message', 'Enter')
    await page.locator('.log').getByText('You said: another question').waitFor()
    await page.locator('#continues-link', { hasText: 'first question' }).waitFor()
    await page.locator('.log').getByText('You said: first question').waitFor()
    const asked = () => JSON.stringify(gateway.model.requests.at(-1)?.body)
    assert.match(asked(), /first question/)
    assert.doesNotMatch(asked(), /second question/)

    await page.locator('.entry.last .again').click()
    await until(
      async () => (await page.locator('.entry.agent', { hasText: 'You said: another question' }).count()) === 2,
    )

    // A message that was copied into the branch begins another one.
    await menuOf('You said: first question', 'Branch from here')
    await page.locator('.log').getByText('You said: another question').first().waitFor({ state: 'detached' })
    await page.locator('.log').getByText('You said: first question').waitFor()
    await say(page, 'third question')
    assert.doesNotMatch(asked(), /another question/)
    assert.match(asked(), /first question/)
    // The conversation from which both began is as it was.
    await visit('/?chat=one')
    await page.locator('.log').getByText('You said: second question').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the plan of the agent, the use of the conversation and its model are beside it', async (t) => {
    const todos = [
      { id: '1', content: 'Look at the numbers', status: 'completed' },
      { id: '2', content: 'Write the summary', status: 'in_progress' },
    ]
    const { page, problems, visit } = await open(t, desk, ({ lastUserText, body }) =>
      JSON.stringify(body).includes('"role":"tool"') || lastUserText !== 'plan it'
        ? { text: `You said: ${lastUserText}` }
        : { text: '', toolCalls: [{ id: 'c1', name: 'todo', arguments: { todos } }] },
    )
    await visit()
    await say(page, 'plan it')
    await page.locator('#plan summary', { hasText: '1 of 2 done: Write the summary' }).click()
    await page.locator('#plan li', { hasText: 'Write the summary' }).waitFor()
    await page.locator('#meter button', { hasText: '%' }).click()
    await page.locator('#usage dd', { hasText: 'of 128,000 tokens' }).waitFor()
    await page.emulateMedia({ reducedMotion: 'reduce' })
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.fill('#usage-model', 'other-model')
    await page.press('#usage-model', 'Enter')
    await page.locator('.slip', { hasText: '/model openai:other-model' }).waitFor()
    await page.locator('#status-text', { hasText: 'other-model' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('formulas are set and diagrams are drawn in a frame that can do nothing else; what is wrong stays as it was', async (t) => {
    const text = [
      'The mass is $E = mc^2$, not $\\frac{1$.',
      '$$\\int_0^1 x^2\\,dx$$',
      '```mermaid\nflowchart LR\n  A[Message] --> B[Turn]\n```',
      '```mermaid\nno diagram\n```',
    ].join('\n\n')
    const { page, problems, visit } = await open(t, desk, () => ({ text }))
    const elsewhere: string[] = []
    await visit()
    page.on('request', (request) => {
      if (new URL(request.url()).host !== new URL(page.url()).host) elsewhere.push(request.url())
    })
    await page.waitForSelector('#status[data-state=open]')
    await page.fill('#message', 'explain')
    await page.press('#message', 'Enter')
    await page.locator('.math .katex').nth(1).waitFor()
    assert.equal(await page.locator('.math .katex').count(), 2)
    await page.locator('.prose', { hasText: '\\frac{1' }).waitFor()
    await page.locator('.code[data-drawn=shown] iframe').waitFor()
    await page.locator('.code[data-drawn=failed]', { hasText: 'no diagram' }).waitFor()
    assert.equal(await page.locator('iframe').count(), 1)
    assert.equal(await page.locator('iframe').getAttribute('sandbox'), 'allow-scripts')
    const frame = page.frames().find((each) => each.url().endsWith('/assets/diagram.html'))
    assert.ok(frame !== undefined)
    assert.equal(await frame.locator('svg').first().isVisible(), true)
    // Neither the storage of the page nor the network can be reached.
    const reached = await frame.evaluate(`(async () => {
      const tries = [() => parent.document.title, () => localStorage.length, () => fetch('/api/sessions')]
      return await Promise.all(tries.map(async (attempt) => { try { await attempt(); return true } catch { return false } }))
    })()`)
    assert.deepEqual(reached, [false, false, false])
    await page.emulateMedia({ reducedMotion: 'reduce' })
    assert.deepEqual(await findSeriousIssues(page), [])
    assert.deepEqual(elsewhere, [])
    assert.deepEqual(problems, [])
  })

  test('the way of a message is shown with its times, from its menu', async (t) => {
    const { page, problems, visit } = await open(t)
    await visit()
    await say(page, 'where am I?')
    const message = page.locator('.entry.user', { hasText: 'where am I?' })
    await message.hover()
    await message.getByRole('button', { name: 'More about this message' }).click()
    await page.getByRole('menuitem', { name: 'Follow this message' }).click()
    await page.locator('.trace tbody th', { hasText: 'Model test-model' }).waitFor()
    assert.match(await page.innerText('.trace dl'), /answered/)
    assert.deepEqual(await findSeriousIssues(page), [])
    assert.deepEqual(problems, [])
  })

  test('on a phone the list is a drawer, and no screen has a serious issue for assistive software', async (t) => {
    const { page, problems, visit } = await open(t, phone)
    await visit()
    await say(page, 'hello')
    const issues = () => findSeriousIssues(page)
    assert.equal(await page.isVisible('#conversations'), false)
    await page.click('.side-open')
    await row(page, 'hello').waitFor()
    await page.emulateMedia({ reducedMotion: 'reduce' })
    assert.deepEqual(await issues(), [])
    await row(page, 'hello').getByRole('button').click()
    await page.waitForSelector('#conversation[open]')
    assert.deepEqual(await issues(), [])
    await page.click('#conversation-close')
    await page.setViewportSize(desk)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await issues(), [], colorScheme)
    }
    assert.deepEqual(problems, [])
  })
})

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + waitLimitMs(); !(await isTrue()); await pause(20))
    if (performance.now() > end) assert.fail('not true in time')
}
