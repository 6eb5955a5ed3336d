/**
 * The dashboard of the page, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false
const desk = { width: 1440, height: 900 }

describe('the dashboard of the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  async function open(t: TestContext, viewport = desk) {
    const gateway = await startTestGateway(t, { model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }) })
    const context = await browser.newContext({ viewport, reducedMotion: 'reduce' })
    t.after(() => context.close())
    context.setDefaultTimeout(30_000)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    const { url, token } = gateway.current()
    const visit = async (path: string) => {
      await page.goto(`${url}${path}#token=${token()}`)
      await page.waitForSelector('#app:not([hidden])')
    }
    return { gateway, page, problems, visit }
  }

  test('is reached from the conversations by keyboard, and the back button leads to them again', async (t) => {
    const { gateway, page, problems, visit } = await open(t)
    await gateway.say('the train to Oslo')
    await gateway.waitForReply('You said: the train to Oslo')
    await visit('/?chat=one')
    await page.waitForSelector('#status[data-state=open]')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('dashb')
    await page.getByRole('option', { name: 'Open the dashboard' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.keyboard.press('Escape')
    await page.goBack()
    await page.waitForSelector('#composer:visible')
    assert.equal(new URL(page.url()).search, '?chat=one')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('oslo')
    await page.getByRole('option', { name: 'the train to Oslo' }).waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.getByRole('option', { name: 'the train to Oslo' }).click()
    await page.getByText('You are reading a conversation on fake.').waitFor()
    assert.deepEqual(problems, [])
  })
})
