/**
 * The part of a DOM that the Markdown of the page needs, to render it without a browser. Nodes are only created and read.
 */
type Child = FakeNode | string

export class FakeNode {
  readonly tag: string
  private readonly children: Child[] = []

  constructor(tag: string, ...children: readonly Child[]) {
    this.tag = tag
    this.children.push(...children)
  }

  append(...children: readonly Child[]): void {
    this.children.push(...children)
  }

  readonly classList = {
    add(): void {
      // Classes are not read.
    },
  }

  setAttribute(): void {
    // Attributes are not read.
  }

  get textContent(): string {
    return this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('')
  }

  /** The text of each element with this tag. */
  textsOf(tag: string): string[] {
    const nested = this.children.flatMap((child) => (typeof child === 'string' ? [] : child.textsOf(tag)))
    return this.tag === tag ? [this.textContent, ...nested] : nested
  }
}

export const fakeDocument = {
  createElement: (tag: string) => new FakeNode(tag),
  createElementNS: (_namespace: string, tag: string) => new FakeNode(tag),
  createTextNode: (text: string) => new FakeNode('#text', text),
}
