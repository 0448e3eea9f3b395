"""Documents for uploads, built from scratch."""
import random, zlib, io, zipfile
def pdf(objects, root=1):
    out, off = b'%PDF-1.5\n', []
    for i, o in enumerate(objects, 1): off.append(len(out)); out += b'%d 0 obj\n' % i + o + b'\nendobj\n'
    x = len(out); out += b'xref\n0 %d\n0000000000 65535 f \n' % (len(objects) + 1) + b''.join(b'%010d 00000 n \n' % o for o in off)
    return out + b'trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n' % (len(objects) + 1, root, x)
def stream(data, extra=b''): return b'<< /Length %d %s>>\nstream\n' % (len(data), extra) + data + b'\nendstream'
def page_bomb(refs=200000, text=None):
    """One page, referred to `refs` times: 1.2 MB."""
    t = b'BT /F1 12 Tf 72 700 Td (page %s) Tj ET' % (text or b'%d' % random.randint(0, 1 << 60))
    return pdf([b'<< /Type /Catalog /Pages 2 0 R >>', b'<< /Type /Pages /Count %d /Kids [%s] >>' % (refs, b'3 0 R ' * refs),
                b'<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>', stream(t), b'<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'])
def honest_pdf(lines):
    t = b'BT /F1 11 Tf 60 760 Td 14 TL ' + b' '.join(b'(%s) Tj T*' % l.encode('latin1', 'replace').replace(b'(', b'\\(').replace(b')', b'\\)') for l in lines) + b' ET'
    return pdf([b'<< /Type /Catalog /Pages 2 0 R >>', b'<< /Type /Pages /Count 1 /Kids [3 0 R] >>', b'<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>', stream(t), b'<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'])
WORDS = 'booking table dinner guest night room breakfast dog garden winter summer price euro hour key towel pool child train street airport station lunch menu soup bread wine water cheese fish meat salad cake coffee tea milk sugar salt pepper oil'.split()
def prose(n, seed=None):
    r = random.Random(seed); return ' '.join((r.choice(WORDS) + ('%d' % r.randint(1, 999999) if r.random() < .1 else '')) + ('.' if r.random() < .1 else '') for _ in range(n))
def docx(document_xml):
    b = io.BytesIO(); z = zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED)
    z.writestr('[Content_Types].xml', '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>')
    z.writestr('_rels/.rels', '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>')
    z.writestr('word/document.xml', document_xml); z.close(); return b.getvalue()
DOC = '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>%s</w:body></w:document>'
